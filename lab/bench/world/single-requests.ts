import { ACCESS_TOKEN_PATH } from '../../../src/http/access-token.ts'
import { INTROSPECT_PATH } from '../../../src/http/introspect.ts'
import type { Credentials } from './checkout.ts'
import { VERIFY_STORE_PATH } from './requests.ts'

// Single requests with fetch, outside of what is measured: they prepare tokens, and check that a server does its work.

/** The number of token requests in flight. */
const CONCURRENCY = 32
const SAMPLE = 4

/** Issues tokens over HTTP. */
export async function issueTokens(port: number, application: Credentials, count: number, path = ACCESS_TOKEN_PATH) {
  const accessTokens: string[] = []
  const loop = async () => {
    while (accessTokens.length < count) accessTokens.push(await issueToken(port, application, path))
  }
  await Promise.all(Array.from({ length: Math.min(CONCURRENCY, count) }, loop))
  return accessTokens.slice(0, count)
}

/** How to get a token from a server, and how to find out whether it is valid there. */
export interface TokenSource {
  port: number
  application: Credentials
  path?: string
  isValid: (accessToken: string) => Promise<boolean>
}

/** Throws unless the server issues distinct, valid tokens, and calls an unknown token invalid. */
export async function assertIssuesTokens({
  port,
  application,
  path = ACCESS_TOKEN_PATH,
  isValid,
}: TokenSource): Promise<void> {
  const accessTokens = await issueTokens(port, application, SAMPLE, path)
  if (new Set(accessTokens).size < SAMPLE) throw new Error(`${path} issued the same token twice.`)
  for (const one of accessTokens) if (!(await isValid(one))) throw new Error(`${path} issued an invalid token.`)
  const unknown = `${accessTokens[0]?.slice(0, -4)}AAAA`
  if (await isValid(unknown)) throw new Error('A token that was never issued is valid: the check proves nothing.')
}

/** Whether the gateway check accepts a token. */
export async function passesVerify(port: number, accessToken: string, path = VERIFY_STORE_PATH): Promise<boolean> {
  const headers = { authorization: `Bearer ${accessToken}` }
  const response = await fetch(`http://127.0.0.1:${port}${path}`, { headers })
  await response.body?.cancel()
  return response.ok
}

/** Whether introspection calls a token active. The caller's credentials are in the body. */
export async function isActive(port: number, caller: Credentials, accessToken: string, path = INTROSPECT_PATH) {
  const { active } = await post(port, path, { ...fields(caller), token: accessToken })
  return active === true
}

async function issueToken(port: number, application: Credentials, path: string): Promise<string> {
  const answer = await post(port, path, { grant_type: 'client_credentials', ...fields(application) })
  return answer.access_token as string
}

function fields({ client_id, client_secret }: Credentials) {
  return { client_id, client_secret }
}

async function post(port: number, path: string, form: Record<string, string>): Promise<Record<string, unknown>> {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, { method: 'POST', body: new URLSearchParams(form) })
  if (!response.ok) throw new Error(`${path} answered ${response.status}: ${await response.text()}`)
  return response.json() as Promise<Record<string, unknown>>
}
