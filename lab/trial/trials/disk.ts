import { setTimeout as sleep } from 'node:timers/promises'
import { verifyRequest } from '../../bench/world/requests.ts'
import { type Disk, openDisk } from '../disk/disk.ts'
import type { Trial, World } from '../trial.ts'
import { openClient, tokenRequest } from '../world/client.ts'
import { type Data, makeData } from '../world/data.ts'
import { audit, type Entry, startLoad } from '../world/ledger.ts'
import { isAlive, type Server, startServer } from '../world/server.ts'

/** Errors by their numbers on Linux. */
const [EIO, ENOSPC, EROFS] = [5, 28, 30]

/** An answer should come within two seconds; on a slow machine it may take this long. Seconds. */
const PATIENCE = 6
const RECOVERY = 30
const END = 15

/** MiB that requests on a hung disk may take. */
const GROWTH = 120

interface Fault {
  name: string
  begin: (disk: Disk) => void
  end: (disk: Disk) => void
  /** The status that at least one token request must get. Undefined: all may get 200 or 503. */
  tokens?: number
  /** The status that all checks must get, and the one that /health/ready must have at least once. */
  checks?: number
  ready?: number
}

const FAULTS: Fault[] = [
  {
    name: 'full disk (ENOSPC)',
    begin: ({ set }) => set('writeErrno', ENOSPC),
    end: ({ set }) => set('writeErrno', 0),
    tokens: 503,
    checks: 200,
  },
  {
    name: 'writes fail (EIO)',
    begin: ({ set }) => set('writeErrno', EIO),
    end: ({ set }) => set('writeErrno', 0),
    tokens: 503,
    checks: 200,
  },
  {
    name: 'reads fail (EIO)',
    begin: ({ set }) => set('readErrno', EIO),
    end: ({ set }) => set('readErrno', 0),
  },
  {
    name: 'read-only disk (EROFS)',
    begin({ set }) {
      set('writeErrno', EROFS)
      set('openErrno', EROFS)
    },
    end({ set }) {
      set('writeErrno', 0)
      set('openErrno', 0)
    },
    tokens: 503,
    checks: 200,
  },
  {
    name: 'hung disk',
    begin: ({ set }) => set('hang', 1),
    end: ({ set }) => set('hang', 0),
    tokens: 503,
    checks: 200,
    ready: 503,
  },
]

export const disk: Trial = {
  name: 'disk',
  title: 'disks that are full, fail, hang or are read-only',
  async run(world) {
    for (const fault of FAULTS) await tryFault(world, fault)
    for (const workers of [1, 2]) await endOnHungDisk(world, workers)
  },
}

/** What clients saw: the statuses of their requests by kind, and the longest wait for a token, in seconds. */
interface Observed {
  tokens: Set<string>
  checks: Set<string>
  ready: Set<string>
  longest: number
  asked: number
}

async function tryFault(world: World, fault: Fault): Promise<void> {
  const { device, data, server, ledger } = await prepare(world, fault.name, 1)
  const before = server.memory().now
  fault.begin(device)
  await sleep(200)
  const observed = await observe(server, data, ledger, world.size(8, 4))
  const grown = server.memory().now - before
  fault.end(device)
  const recovered = await recovery(server, data)
  const { lost, resurrected } = await audit(server.port, ledger)
  await server.stop()

  const { tokens, checks, ready, longest, asked } = observed
  const answers = `${asked} token requests: ${list(tokens)}, after ${longest.toFixed(1)} s at most; checks: ${list(checks)}; ready: ${list(ready)}`
  const known = [...tokens, ...checks, ...ready].every((status) => status === '200' || status === '503')
  const goesOn = fault.checks === undefined || list(checks) === String(fault.checks)
  const areTokensRight = fault.tokens === undefined || tokens.has(String(fault.tokens))
  const isReadyRight = fault.ready === undefined || ready.has(String(fault.ready))
  world.expect(known && goesOn && isReadyRight && areTokensRight && longest < PATIENCE, fault.name, answers)
  world.expect(
    recovered !== undefined && lost + resurrected === 0 && grown <= GROWTH,
    `${fault.name}, and after it`,
    `${recovered === undefined ? 'does not recover' : `recovers in ${recovered.toFixed(1)} s`}; ${ledger.length} tokens: ${lost} lost, ${resurrected} resurrected; ${grown.toFixed(0)} MiB more memory`,
  )
}

async function prepare(world: World, name: string, workers: number) {
  const device = openDisk(world, name.replaceAll(/[ ()]/g, '-'))
  const data = makeData(world, device.folder, 4, device.env)
  const server = await startServer(world, data, { WORKERS: String(workers) })
  const ledger: Entry[] = []
  const habits = { connections: 8, revoke: 0.2, twice: 0.2 }
  const load = startLoad(server.port, { applications: data.applications, random: world.random, ledger, habits })
  await sleep(500)
  await load.stop()
  return { device, data, server, ledger }
}

/** Clients on a broken disk for some seconds: 40 ask for tokens, one for checks, one for /health/ready. */
async function observe(server: Server, { applications }: Data, ledger: Entry[], seconds: number): Promise<Observed> {
  const observed: Observed = { tokens: new Set(), checks: new Set(), ready: new Set(), longest: 0, asked: 0 }
  const valid = ledger.findLast(({ revokeSentAt }) => revokeSentAt === undefined) as Entry
  const end = performance.now() + seconds * 1000
  const loop = async (ask: (client: ReturnType<typeof openClient>) => Promise<void>) => {
    const client = openClient(server.port)
    while (performance.now() < end) {
      await ask(client)
      await sleep(20)
    }
    client.close()
  }
  const says = (request: Promise<number>) => request.then(String, (error: Error) => error.message)

  await Promise.all([
    ...Array.from({ length: 40 }, () =>
      loop(async (client) => {
        const startedAt = performance.now()
        const application = applications[0]
        const answer = await client.send(tokenRequest(application)).catch((error: Error) => error)
        if (!(answer instanceof Error) && answer.status === 200) {
          const token = JSON.parse(answer.body).access_token
          ledger.push({ token, application, issuedAt: process.hrtime.bigint() })
        }
        observed.tokens.add(answer instanceof Error ? answer.message : String(answer.status))
        observed.longest = Math.max(observed.longest, (performance.now() - startedAt) / 1000)
        observed.asked++
      }),
    ),
    loop(async (client) => {
      observed.checks.add(await says(client.status(verifyRequest(valid.token))))
    }),
    loop(async (client) => {
      observed.ready.add(await says(client.status('GET /health/ready HTTP/1.1\r\nHost: localhost\r\n\r\n')))
    }),
  ])
  return observed
}

/** The seconds until the server issues tokens again. Undefined if it does not. */
async function recovery({ port }: Server, { applications }: Data): Promise<number | undefined> {
  const client = openClient(port)
  const startedAt = performance.now()
  const seconds = () => (performance.now() - startedAt) / 1000
  while (seconds() < RECOVERY) {
    if (await client.token(applications[0]).catch(() => undefined)) return seconds()
    await sleep(50)
  }
  return undefined
}

/** SIGTERM has to end the server and its workers although the disk does not answer, and what was acknowledged is kept. */
async function endOnHungDisk(world: World, workers: number): Promise<void> {
  const { device, data, server, ledger } = await prepare(world, `end on a hung disk ${workers}`, workers)
  device.set('hang', 1)
  const observed = observe(server, data, ledger, 1)
  await sleep(1000)
  const processes = server.processes()
  const took = await server.stop(END)
  const left = processes.filter(isAlive).length
  await observed
  device.set('hang', 0)
  const next = await startServer(world, data)
  const { lost, resurrected } = await audit(next.port, ledger)
  await next.stop()
  world.expect(
    took < END && left === 0 && lost + resurrected === 0,
    `SIGTERM on a hung disk, ${workers} worker${workers === 1 ? '' : 's'}`,
    `ended in ${took.toFixed(1)} s; ${ledger.length} tokens: ${lost} lost, ${resurrected} resurrected`,
  )
}

const list = (statuses: Set<string>) => [...statuses].sort().join(', ')
