import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../../../test/support/free-port.ts'
import { type Checkout, openCheckout } from '../../bench/world/checkout.ts'
import { checkOutRelease } from '../../bench/world/release.ts'
import { startMixedLoad } from '../soak/load.ts'
import type { Trial, World } from '../trial.ts'
import type { Ports } from '../world/client.ts'
import { fillStore, makeData, runCommand, type Store } from '../world/data.ts'
import { addOperator, logIn } from '../world/operator.ts'
import { withPostgres } from '../world/postgres.ts'
import { type Server, startServer } from '../world/server.ts'

const APPLICATIONS = 20

/** What a client sees of a server that ends: the only thing that may happen while no server runs. */
const CLOSED = 'the connection was closed'

/** A call of the admin listener that reads several views has waited for the migration, which waited for it. */
const BUSY = /^(GET|POST|DELETE) .*: 503$/

export const upgrade: Trial = {
  name: 'upgrade',
  title: 'from the last release to this program and back, under load: is anything refused or lost?',
  async run(world) {
    const programs = { old: checkOutRelease(world.cleanup), next: openCheckout(world.program, 'product') }
    await withPostgres({ durable: true }, async (postgres) => {
      await oneNodeAfterTheOther(world, await postgres.createDatabase(), programs)
    })
    await stopAndStart(world, programs)
  },
}

type Programs = Record<'old' | 'next', Checkout>

const folderOf = ({ main }: Checkout) => join(main, '../..')

/** How long each step is under load. */
const underLoad = (world: World) => sleep(world.size(20_000, 2000))

/** A program is stopped when no more requests go to it, as behind a balancer. Commands are the ones of the newest node. */
async function oneNodeAfterTheOther(world: World, url: string, { old, next }: Programs): Promise<void> {
  const store = fillStore({ program: folderOf(old) }, { DATABASE_URL: url }, APPLICATIONS)
  const nodes: Server[] = []
  const [ports, adminPorts]: [number[], number[]] = [[], []]

  async function start(checkout: Checkout): Promise<void> {
    store.checkout = checkout
    const adminPort = await freePort()
    store.env.ADMIN_ADDRESS = `127.0.0.1:${adminPort}`
    const node = await startServer(world, store)
    nodes.push(node)
    ports.push(node.port)
    adminPorts.push(adminPort)
  }

  await start(old)
  await start(old)
  const load = await startLoad(world, store, ports, adminPorts)
  await underLoad(world)
  for (const [oldest, checkout] of [next, next, old, next].entries()) {
    await start(checkout)
    ports.shift()
    adminPorts.shift()
    await underLoad(world)
    await nodes[oldest]?.stop()
  }
  await load.stop()
  const { holds, text } = await load.audit()
  const chain = await verifyAudit(store)
  for (const node of nodes.slice(-2)) await node.stop()
  const errors = nodes.flatMap((node) => node.log().match(/"level":"(error|fatal)"/g) ?? []).length
  const unexpected = [...load.found.unexpected]
  const busy = unexpected.filter(([what]) => BUSY.test(what)).reduce((sum, [, count]) => sum + count, 0)
  world.expect(
    holds && unexpected.every(([what]) => BUSY.test(what)) && errors <= busy,
    'two nodes on PostgreSQL, replaced one after the other: last release, this program, and one back and forth',
    `${load.requests()} requests; ${text}; ${errors} errors in the logs; ${chain}`,
  )
}

/** On SQLite, with one process: only while none runs is a request not answered. */
async function stopAndStart(world: World, { old, next }: Programs): Promise<void> {
  const store = makeData({ program: folderOf(old) }, join(world.folder, 'data'), APPLICATIONS)
  const [port, adminPort] = [await freePort(), await freePort()]
  Object.assign(store.env, { PORT: String(port), ADMIN_ADDRESS: `127.0.0.1:${adminPort}` })
  let server = await startServer(world, store)
  const load = await startLoad(world, store, port, adminPort)
  const pauses: string[] = []
  for (const checkout of [next, old, next]) {
    await underLoad(world)
    const stoppedAt = performance.now()
    await server.stop()
    store.checkout = checkout
    server = await startServer(world, store)
    pauses.push(((performance.now() - stoppedAt) / 1000).toFixed(1))
  }
  await underLoad(world)
  await load.stop()
  const { holds, text } = await load.audit()
  const chain = await verifyAudit(store)
  await server.stop()
  world.expect(
    holds && [...load.found.unexpected.keys()].every((what) => what === CLOSED),
    'SQLite: the last release stopped, this program started, and one back and forth',
    `${load.requests()} requests; ${text}; pauses of ${pauses.join(', ')} s; ${chain}`,
  )
}

/** Throws if the audit events are not one chain. */
async function verifyAudit(store: Store): Promise<string> {
  const { events, chained_later } = await runCommand(store, ['audit', 'verify'])
  return `${events} audit events are one chain, of which ${(chained_later as { events: number }).events} were chained later`
}

async function startLoad(world: World, store: Store, port: Ports, adminPort: Ports) {
  const adminKey = await addOperator(store, 'anna', 'admin')
  const [one = 0] = [adminPort].flat()
  return startMixedLoad(world, { store, port, adminPort, adminKey, cookie: await logIn(store, 'anna', one) })
}
