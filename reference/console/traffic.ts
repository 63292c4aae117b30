import { ACCESS_TOKEN_PATH } from '../../src/http/access-token.ts'
import { VERIFY_PATH } from '../../src/http/wire/target.ts'
import type { Client, Registered } from './registrations.ts'

/** The minute from which on one of them has a wrong secret: with a deployment. */
const DEPLOYED_AT = 55

/** How often a token is asked about. */
const CHECKS = 6

/** Lets minutes pass, up to this one, in which the applications ask for tokens and use them, at a pace that goes up and down. */
export async function makeTraffic(
  address: string,
  { busy, notApproved, suspended, wrongSecret }: Registered,
  { from = 0, minutes, tick }: { from?: number; minutes: number; tick: () => void },
): Promise<void> {
  for (let second = from * 60; second < minutes * 60; second++) {
    tick()
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
