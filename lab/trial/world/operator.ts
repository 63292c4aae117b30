import { type Place, runCommand } from './data.ts'
import { scheme } from './dial.ts'

/** Adds an operator. Resolves to an admin key. */
export async function addOperator(place: Place, name: string, role: string): Promise<string> {
  await runCommand(place, ['operators', 'add', name, '--role', role])
  return String((await runCommand(place, ['operators', 'key', name, '--expires', '1d'])).admin_key)
}

/** Logs in as a browser does. Resolves to the cookie of the session. */
export async function logIn(place: Place, name: string, port: number): Promise<string> {
  const { url } = await runCommand(place, ['console', name])
  const answer = await fetch(`${scheme()}://127.0.0.1:${port}/login`, {
    method: 'POST',
    redirect: 'manual',
    headers: { 'sec-fetch-site': 'same-origin' },
    body: new URLSearchParams({ code: new URL(String(url)).hash.slice(1) }),
  })
  const [cookie] = /^__Host-session-\d+=\w+/.exec(answer.headers.get('set-cookie') ?? '') ?? []
  if (cookie === undefined) throw new Error(`No login: ${answer.status}`)
  return cookie
}

/** Calls the administration API: `POST /applications`. Resolves to the body. Rejects if the call is refused. */
export async function callApi(
  port: number,
  key: string,
  line: string,
  content?: object,
  headers: Record<string, string> = {},
) {
  const [method = '', path] = line.split(' ')
  const response = await fetch(`${scheme()}://127.0.0.1:${port}/admin/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${key}`, ...(content && { 'content-type': 'application/json' }), ...headers },
    ...(content && { body: JSON.stringify(content) }),
  })
  const body = await response.text()
  if (!response.ok) throw new Error(`${line}: ${response.status} ${body}`)
  return JSON.parse(body || '{}')
}
