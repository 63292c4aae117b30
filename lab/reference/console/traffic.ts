import { ACCESS_TOKEN_PATH } from '../../../src/http/access-token.ts'
import { VERIFY_PATH } from '../../../src/http/verify.ts'
import type { Client, Registered } from './registrations.ts'

/** The minute at which one application starts to send a wrong secret, as after a failed deployment. */
const DEPLOYED_AT = 55

/** Checks per token. */
const CHECKS = 6

/** Simulates applications that request and use tokens, at a varying pace, from minute `from` to minute `minutes`. */
export async function makeTraffic(
  address: string,
  { busy, notApproved, suspended, wrongSecret }: Registered,
  { from = 0, minutes, tick }: { from?: number; minutes: number; tick: () => Promise<unknown> },
): Promise<void> {
  for (let second = from * 60; second < minutes * 60; second++) {
    await tick()
    const minute = second / 60
    const pace = 6 + 3 * Math.sin(minute / 9) + 1.5 * Math.sin(minute / 2.3)
    if (second % Math.max(2, Math.round(20 / pace)) === 0) await use(busy[second % busy.length] as Client, 'store')
    if (second % 97 === 0) await use(notApproved, 'invoices', 1)
    if (second % 61 === 0) await ask(suspended)
    if (minute > DEPLOYED_AT && second % 29 === 0) await ask(wrongSecret)
  }

  async function use(client: Client, suite: string, checks = CHECKS): Promise<void> {
    const accessToken = await ask(client)
    const headers = { authorization: `Bearer ${accessToken}` }
    for (let times = 0; times < checks; times++) {
      await (await fetch(`${address}${VERIFY_PATH}/${suite}`, { headers })).text()
    }
  }

  async function ask({ clientId, clientSecret }: Client): Promise<string | undefined> {
    const form = { grant_type: 'client_credentials', client_id: clientId, client_secret: clientSecret }
    const answer = await fetch(address + ACCESS_TOKEN_PATH, { method: 'POST', body: new URLSearchParams(form) })
    return ((await answer.json()) as { access_token?: string }).access_token
  }
}
