import { setTimeout as sleep } from 'node:timers/promises'
import { ACCESS_TOKEN_PATH } from '../../http/access-token.ts'
import { VERIFY_PATH } from '../../http/wire/target.ts'
import type { Credentials, DemoWorld } from './world.ts'

const PAUSE_MS = 400

/** How often each token is checked. */
const CHECKS = 3

/**
 * Simulates partners that request and use tokens, a few requests per second, some of which are refused. Resolves without an
 * error when the server at this address stops. Does not keep the process alive.
 */
export async function makeTraffic(
  address: string,
  { partners }: Pick<DemoWorld, 'partners'>,
  pause = () => sleep(PAUSE_MS, undefined, { ref: false }),
): Promise<void> {
  const { busy, notApproved, suspended, wrongSecret } = partners
  try {
    // The secret worked once, so that the diagnosis can say when it was last used.
    await ask({ ...wrongSecret, clientSecret: wrongSecret.rightSecret })
    while (true) {
      for (const partner of busy) await useToken(partner, 'store')
      await useToken(notApproved, 'invoices')
      await ask(suspended)
      for (const partner of busy) await useToken(partner, 'invoices')
      await ask(wrongSecret)
      await check('store', 'no-token-of-this-server')
    }
  } catch {}

  async function useToken(partner: Credentials, suite: string): Promise<void> {
    const accessToken = await ask(partner)
    for (let times = 0; accessToken && times < CHECKS; times++) await check(suite, accessToken)
  }

  /** Requests a token; undefined: it was refused. */
  async function ask({ clientId, clientSecret }: Credentials): Promise<string | undefined> {
    await pause()
    const body = new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: clientId,
      client_secret: clientSecret,
    })
    const answer = await fetch(address + ACCESS_TOKEN_PATH, { method: 'POST', body })
    return ((await answer.json()) as { access_token?: string }).access_token
  }

  /** Checks a token for a suite, as a gateway does. */
  async function check(suite: string, accessToken: string): Promise<void> {
    await pause()
    const answer = await fetch(`${address}${VERIFY_PATH}/${suite}`, {
      headers: { authorization: `Bearer ${accessToken}` },
    })
    await answer.text()
  }
}
