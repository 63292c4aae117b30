import { setTimeout as sleep } from 'node:timers/promises'
import type { Administration } from '../../administration/administration.ts'
import { fields } from '../../administration/rules.ts'
import type { ApplicationValues } from '../../domain/application.ts'
import { ACCESS_TOKEN_PATH } from '../../http/access-token.ts'
import { VERIFY_PATH } from '../../http/verify.ts'
import type { Terminal } from '../shared/terminal.ts'

export interface Credentials {
  clientId: string
  clientSecret: string
}

type Partners = Awaited<ReturnType<typeof createDemoWorld>>['partners']

/** Values for the fields that do not matter in the demo. */
const VALUES = Object.fromEntries(Object.keys(fields).map((field) => [field, 'Demo'])) as ApplicationValues

/** Registers suites, an application for the user to try, and partners for the simulated traffic, grouped by their answers. */
export async function createDemoWorld(administration: Administration) {
  const { applications } = administration
  await administration.suites.register({ suiteId: 'store', name: 'Store API' })
  await administration.suites.register({ suiteId: 'invoices', name: 'Invoice API' })
  const busy = [
    await register('Warehouse scanner', 'warehouse@partner-one.example'),
    await register('Price comparison', 'prices@partner-two.example'),
    await register('Parcel tracking', 'parcels@partner-three.example'),
  ]
  const notApproved = await register('Returns desk', 'returns@partner-four.example', ['store'])
  const suspended = await register('Old stock import', 'import@partner-two.example')
  await applications.suspend(suspended.clientId)
  const { clientId, clientSecret: rightSecret } = await register(
    'Nightly report',
    'reports@partner-five.example',
    'all',
    'In this demo the secret that the partner sends is cut off. Rotate, and it finds that mistake. You cannot really hand it the new ' +
      'secret, so it goes on with the old one until that ends.',
  )
  const isMended = async () => (await applications.show(clientId)).secrets.length > 1
  const wrongSecret = { clientId, clientSecret: 'a secret that was cut off', rightSecret, isMended }
  const application = await register('Demo application (for you to try)', 'developer@demo.example')
  return { application, partners: { busy, notApproved, suspended, wrongSecret } }

  async function register(
    name: string,
    developerEmail: string,
    suites: string[] | 'all' = 'all',
    note = '',
  ): Promise<Credentials> {
    const labels = { partner: developerEmail.replace(/^.*@|\.example$/g, '') }
    const values = { ...VALUES, name, developerEmail, suites, labels, note }
    const { clientId, clientSecret } = await applications.register(values)
    return { clientId, clientSecret: clientSecret as string }
  }
}

const OPERATOR = 'demo'

/** Makes a one-time login link to the console. Adds the operator if it is missing: users can remove it in the console. */
export async function makeLink({ operators }: Administration, console: string): Promise<string> {
  const isThere = (await operators.list()).some(({ name }) => name === OPERATOR)
  if (!isThere) await operators.add(OPERATOR, 'admin')
  const { code } = await operators.makeLoginCode(OPERATOR)
  return `${console}/login#${code}`
}

/** Prints a new link each time Enter is pressed. Does nothing if stdin is not a terminal. */
export async function printLinkOnEnter({ stdin, stdout }: Terminal, link: () => Promise<string>): Promise<void> {
  if (!stdin.isTTY) return
  for await (const _line of stdin)
    stdout.write(
      `Another link, for one sign-in within 10 minutes. Unused earlier links still work for 10 minutes each.\n\n  ${await link()}\n\n`,
    )
}

const PAUSE_MS = 400

const CHECKS_PER_TOKEN = 3

/**
 * Simulates partners that request and use tokens, a few requests per second, some of which are refused. Resolves when the
 * server at this address stops. Does not keep the process alive.
 */
export async function makeTraffic(
  address: string,
  { busy, notApproved, suspended, wrongSecret }: Partners,
  pause = () => sleep(PAUSE_MS, undefined, { ref: false }),
): Promise<void> {
  try {
    // Sends one request with the right secret, so that the diagnosis can say when it was last used.
    await ask({ ...wrongSecret, clientSecret: wrongSecret.rightSecret })
    while (true) {
      await useToken(notApproved, 'invoices')
      // Once it has a new secret, the partner finds the mistake.
      await ask({ ...wrongSecret, ...((await wrongSecret.isMended()) && { clientSecret: wrongSecret.rightSecret }) })
      for (const partner of busy) await useToken(partner, 'store')
      await ask(suspended)
      for (const partner of busy) await useToken(partner, 'invoices')
      await check('store', 'no-token-of-this-server')
    }
  } catch {}

  async function useToken(partner: Credentials, suite: string): Promise<void> {
    const accessToken = await ask(partner)
    for (let times = 0; accessToken && times < CHECKS_PER_TOKEN; times++) await check(suite, accessToken)
  }

  /** Requests a token. Resolves to undefined if it is refused. */
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

  async function check(suite: string, accessToken: string): Promise<void> {
    await pause()
    const answer = await fetch(`${address}${VERIFY_PATH}/${suite}`, {
      headers: { authorization: `Bearer ${accessToken}` },
    })
    await answer.text()
  }
}

/** How to sign in: `token-server console` cannot reach a store in memory. */
export function signInHint({ isTTY }: Pick<Terminal['stdin'], 'isTTY'>): string {
  if (isTTY) return 'Press Enter in the terminal where the demo runs, and open the link that it prints.'
  return 'Open the link that the demo printed when it started. For another one, start the demo again.'
}

export function explain(
  address: string,
  link: string,
  { clientId, clientSecret }: Credentials,
  { isTTY }: Pick<Terminal['stdin'], 'isTTY'>,
  curl = 'curl',
): string {
  const token = `${curl} -s ${address}${ACCESS_TOKEN_PATH} \\
    -d 'grant_type=client_credentials&client_id=${clientId}&client_secret=${clientSecret}'`
  return `
Open the console in a browser. The link signs you in once, within 10 minutes.${isTTY ? ' Press Enter for another link.' : ''}

  ${link}

The server itself answers programs at ${address}. Press Ctrl-C to stop; the demo leaves nothing behind.

To try it in another terminal:

  1. An application gets a token.

  TOKEN=$(${token} |
    sed 's/.*"access_token":"\\([^"]*\\)".*/\\1/'); echo $TOKEN

  2. A gateway asks whether a request with that token may access the store suite. 200: yes.

  ${curl} -i ${address}${VERIFY_PATH}/store -H "Authorization: Bearer $TOKEN"

  3. The same without a token: 401.

  ${curl} -i ${address}${VERIFY_PATH}/store

  4. The same with an invalid token: 401.

  ${curl} -i ${address}${VERIFY_PATH}/store -H 'Authorization: Bearer nonsense'

`
}
