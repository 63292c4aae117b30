import type { Administration } from '../../../src/administration/administration.ts'
import type { Author } from '../../../src/domain/audit-event.ts'

const DAY = 24 * 60 * 60 * 1000

export interface Client {
  clientId: string
  clientSecret: string
}

/** Applications by what happens to their requests. */
export interface Registered {
  busy: Client[]
  notApproved: Client
  suspended: Client
  wrongSecret: Client
}

export type Actor = (author: Author) => Administration

/** The command line on the server. */
export const SHELL: Author = { actor: 'root', origin: 'command line', remoteAddress: 'tokens-1' }
const ANNA: Author = { actor: 'anna', origin: 'console', remoteAddress: '10.20.0.14', requestId: 'f2c1d0a49b7e4c55' }
const DEPLOY: Author = { actor: 'deploy', origin: 'API', remoteAddress: '10.20.0.77', requestId: 'a8e4470bd2f94e1c' }

const SUITES = { store: 'Store API', invoices: 'Invoice API', prices: 'Price feed' }

const BUSY = [
  ['Warehouse scanner', 'warehouse@parcels.example'],
  ['Price comparison', 'api@prices.example'],
  ['Lagerverwaltung', 'it@lager.example'],
  ['Suivi des colis', 'dev@colis.example'],
  ['Склад №7', 'support@sklad.example'],
  ['Ελληνικό κατάστημα', 'dev@katastima.example'],
  ['متجر الهدايا', 'dev@hadaya.example'],
  ['Checkout of the web shop', 'checkout@shop.example'],
  ['Invoice export', 'accounting@shop.example'],
] as const

/** Registers everything, spread over months up to `until` (milliseconds since the epoch). */
export async function registerAll(as: Actor, skip: (ms: number) => void, until: number): Promise<Registered> {
  const pass = (days: number) => skip(days * DAY)
  const root = as(SHELL)
  await root.operators.add('anna', 'admin')
  await root.operators.add('deploy', 'admin')
  await root.operators.add('bruno', 'viewer')
  for (const [suiteId, name] of Object.entries(SUITES)) await root.suites.register({ suiteId, name })

  const { applications, secrets } = as(ANNA)
  const busy: Client[] = []
  for (const [name, developerEmail] of BUSY) {
    busy.push(await register(name, developerEmail))
    pass(9)
  }
  const notApproved = await register('Returns desk', 'returns@shop.example', ['store'])
  pass(6)
  const suspended = await register('Old stock import', 'it@lager.example')
  const report = await register('Nightly report', 'reports@prices.example', ['store', 'invoices'])
  await root.operators.addKey('deploy', 90 * DAY)
  skip(Math.max(0, until - 2 * DAY - Date.now()))
  await applications.suspend(suspended.clientId)
  pass(1)
  await as(DEPLOY).applications.register({
    name: 'Label printer',
    developerEmail: 'labels@parcels.example',
    suites: 'all',
  })
  await secrets.rotate(report.clientId, 0)
  await secrets.rotate((busy[0] as Client).clientId, 7 * DAY)
  skip(Math.max(0, until - Date.now()))
  return { busy, notApproved, suspended, wrongSecret: report }

  async function register(name: string, developerEmail: string, suites?: string[]): Promise<Client> {
    const { clientId, clientSecret } = await applications.register({ name, developerEmail, suites: suites ?? 'all' })
    return { clientId, clientSecret: clientSecret as string }
  }
}
