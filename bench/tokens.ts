import type { Application } from './data.ts'
import { INTROSPECT_PATH, TOKEN_PATH, VERIFY_PATH } from './requests.ts'

// Single requests, outside what is measured.

/** How many requests for tokens are under way at once. */
const CONCURRENCY = 32
const SAMPLE = 4

/** Issues tokens over HTTP. */
export async function issueTokens(port: number, application: Application, count: number, path = TOKEN_PATH) {
  const tokens: string[] = []
  const one = async () => {
    while (tokens.length < count) tokens.push(await issueToken(port, application, path))
  }
  await Promise.all(Array.from({ length: Math.min(CONCURRENCY, count) }, one))
  return tokens.slice(0, count)
}

/** A few tokens of this server: are they distinct, and good? Throws where they are not. */
export async function checkSample(port: number, application: Application): Promise<void> {
  await checkTokens(port, application, { path: TOKEN_PATH, isGood: (token) => isVerified(port, token) })
}

/** The same for a peer, by whatever way it has to tell a good token. */
export async function checkTokens(
  port: number,
  application: Application,
  { path, isGood }: { path: string; isGood: (token: string) => Promise<boolean> },
): Promise<void> {
  const tokens = await issueTokens(port, application, SAMPLE, path)
  if (new Set(tokens).size < SAMPLE) throw new Error('The same token was issued twice.')
  for (const token of tokens) if (!(await isGood(token))) throw new Error(`${path} issued a token that is not good.`)
  const other = `${tokens[0]?.slice(0, -4)}AAAA`
  if (await isGood(other)) throw new Error('A token is good that was never issued: the check tells nothing.')
}

/** Whether the gateway check lets a token pass. */
export async function isVerified(port: number, token: string, path = VERIFY_PATH): Promise<boolean> {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, { headers: { authorization: `Bearer ${token}` } })
  await response.body?.cancel()
  return response.ok
}

/** Whether introspection calls a token active, for callers with their credentials in the body. */
export async function isActive(port: number, caller: Application, token: string, path = INTROSPECT_PATH) {
  const { active } = await post(port, path, { ...credentials(caller), token })
  return active === true
}

async function issueToken(port: number, application: Application, path: string): Promise<string> {
  const answer = await post(port, path, { grant_type: 'client_credentials', ...credentials(application) })
  return answer.access_token as string
}

function credentials({ client_id, client_secret }: Application) {
  return { client_id, client_secret }
}

async function post(port: number, path: string, fields: Record<string, string>): Promise<Record<string, unknown>> {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, { method: 'POST', body: new URLSearchParams(fields) })
  if (!response.ok) throw new Error(`${path} answered ${response.status}: ${await response.text()}`)
  return response.json() as Promise<Record<string, unknown>>
}
