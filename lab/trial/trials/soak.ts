import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../../../test/support/free-port.ts'
import { describeMachine, thisMachine } from '../../bench/report/results.ts'
import { drawCurve } from '../soak/curve.ts'
import { startMixedLoad } from '../soak/load.ts'
import { csvOf, growthOf, increase, type Sample, takeSample } from '../soak/samples.ts'
import type { Trial, World } from '../trial.ts'
import { fillStore, makeData, type Store } from '../world/data.ts'
import { addOperator, logIn } from '../world/operator.ts'
import { withPostgres } from '../world/postgres.ts'
import { type Server, startServer } from '../world/server.ts'

const APPLICATIONS = 20

/** How many samples a run has, and the shortest and longest time between two, milliseconds. */
const SAMPLES = 180
const SHORTEST = 1000
const LONGEST = 15_000

/** When workers are replaced, as parts of the time: early, so that those of the last two thirds grow old. */
const RELOADS = [0.1, 0.2, 0.3]

/** How much the last third may need relative to the middle one, and how long a run must be to judge it: caches fill first. */
const GROWTH = 1.02
const JUDGED_MINUTES = 30

export const soak: Trial = {
  name: 'soak',
  title: 'everything at once, for long: is everything there that was acknowledged, and what grows?',
  async run(world) {
    if (!world.postgres) return soakOn(world, 'SQLite', makeData(world, join(world.folder, 'data'), APPLICATIONS))
    await withPostgres({ durable: true }, async (postgres) => {
      const env = { DATABASE_URL: await postgres.createDatabase() }
      await soakOn(world, 'PostgreSQL', fillStore(world, env, APPLICATIONS))
    })
  },
}

async function soakOn(world: World, database: string, store: Store): Promise<void> {
  const [adminPort, opsPort] = [await freePort(), await freePort()]
  store.env.ADMIN_ADDRESS = `127.0.0.1:${adminPort}`
  const server = await startServer(world, store, { WORKERS: '2', OPS_ADDRESS: `127.0.0.1:${opsPort}` })
  const adminKey = await addOperator(store, 'anna', 'admin')
  const cookie = await logIn(store, 'anna', adminPort)
  const load = startMixedLoad(world, { store, port: server.port, adminPort, adminKey, cookie })
  const samples = await sample(world, {
    server,
    metrics: `http://127.0.0.1:${opsPort}/metrics`,
    requests: load.requests,
  })
  writeFiles(world, database, samples)
  await load.stop()
  const audited = await load.audit()
  await server.stop()

  const { minutes } = world.sizes
  const what = `${minutes} min on ${database}`
  // 503 and closed connections belong to reloads and busy machines.
  const hasFailed = [...load.found.unexpected.keys()].some((answer) => /: 5(?!03)\d\d$/.test(answer))
  world.expect(audited.holds && !hasFailed, what, audited.text)
  judge(world, what, samples)
}

async function sample(
  world: World,
  { server, metrics, requests }: { server: Server; metrics: string; requests: () => number },
): Promise<Sample[]> {
  const samples: Sample[] = []
  const length = world.sizes.minutes * 60_000
  const every = Math.min(Math.max(length / SAMPLES, SHORTEST), LONGEST)
  const begin = performance.now()
  const reloads = RELOADS.map((part) => part * length)
  for (let next = every; next <= length; next += every) {
    await sleep(Math.max(0, begin + next - performance.now()))
    const minutes = (performance.now() - begin) / 60_000
    samples.push({ minutes, requests: requests(), ...(await takeSample(server, metrics)) })
    if (next >= (reloads[0] ?? Number.POSITIVE_INFINITY)) {
      reloads.shift()
      server.signal('SIGHUP')
    }
    if (samples.length % 20 === 0) {
      const { leader, workers } = samples.at(-1) as Sample
      world.step(`${minutes.toFixed(1)} minutes, ${requests()} requests, ${Math.round(leader + workers)} MiB`)
    }
  }
  return samples
}

function judge(world: World, what: string, samples: Sample[]): void {
  const { memory, descriptors, log, lag } = growthOf(samples)
  const { leader, workers } = samples.at(-1) as Sample
  const cores = increase(samples, 'cpuSeconds') / increase(samples, 'minutes') / 60
  const found = `the last third to the middle one: memory ${memory.toFixed(3)}, descriptors ${descriptors.toFixed(3)}, log for a request ${log.toFixed(3)}, longest delay of the event loop ${lag.toFixed(2)}; ${Math.round(leader + workers)} MiB at the end, ${cores.toFixed(2)} of a core`
  if (world.sizes.minutes < JUDGED_MINUTES) world.report(what, found)
  else world.expect(Math.max(memory, descriptors, log) <= GROWTH, what, found)
}

function writeFiles(world: World, database: string, samples: Sample[]): void {
  const { into = world.folder, sizes } = world
  const name = join(into, `soak-${database.toLowerCase()}`)
  const title = `Memory in MiB over ${sizes.minutes} min of everything at once, ${database}`
  const foot = `Two workers. ${describeMachine(thisMachine())}, ${new Date().toISOString().slice(0, 10)}`
  writeFileSync(`${name}.csv`, csvOf(samples))
  writeFileSync(`${name}.svg`, drawCurve(title, samples, foot))
  world.step(`wrote ${name}.csv and .svg`)
}
