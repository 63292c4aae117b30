import { setTimeout as sleep } from 'node:timers/promises'
import { runPostgres } from '../../../test/support/postgres/server.ts'
import type { Credentials } from '../../bench/world/checkout.ts'
import type { World } from '../trial.ts'
import { openClient, tokenRequest } from '../world/client.ts'
import { fillStore, type Store } from '../world/data.ts'
import { dial } from '../world/dial.ts'
import { type Server, startServer } from '../world/server.ts'
import type { Attack } from './attack.ts'
import { measureAttack } from './attacked.ts'

/** MiB. */
const PEAK = 350
const REST_MS = 60_000

const READY = 'GET /health/ready HTTP/1.1\r\nHost: localhost\r\n\r\n'
const FORWARDED = `${READY.replace('\r\n\r\n', '\r\nX-Forwarded-For: 203.0.113.1\r\nConnection: close\r\n\r\n')}`
/** A check of a token that nobody got: eight of its characters are a number. */
const CHECK = `GET /v1/oauth/verify/store HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer #${'A'.repeat(56)}\r\n\r\n`
const LONG = `X-Long: ${'x'.repeat(15_000)}\r\n`

/** `connections`: in a full run, and in a quick one, which leaves it out if 0. */
interface Crowd {
  done: string
  connections: [full: number, quick: number]
  addresses: number
  isForwarded?: boolean
  attack: (application: Credentials) => Pick<Attack & { kind: 'unread' }, 'kind' | 'request' | 'blocks'>
}

const token = (application: Credentials) => ({ kind: 'unread', request: tokenRequest(application) }) as const
const long = (application: Credentials) =>
  ({ kind: 'unread', request: tokenRequest(application, LONG), blocks: 1 }) as const
const check = () => ({ kind: 'unread', request: CHECK.replace('#', 'AAAAAAAA'), blocks: 1 }) as const

const UNREAD: Crowd[] = [
  { done: 'token requests', connections: [60, 0], addresses: 1, attack: token },
  { done: 'token requests', connections: [2048, 300], addresses: 2, attack: token },
  { done: 'token requests', connections: [8192, 0], addresses: 8, attack: token },
  {
    done: 'token requests after an X-Forwarded-For',
    connections: [6000, 0],
    addresses: 1,
    isForwarded: true,
    attack: token,
  },
  { done: 'checks of unknown tokens', connections: [2048, 0], addresses: 2, attack: check },
  { done: 'token requests with 15 KB of headers', connections: [1024, 200], addresses: 1, attack: long },
]

/** Requests from many connections that are sent without waiting for answers, beside good clients. */
export async function crowds(world: World, data: Store): Promise<void> {
  for (const { done, connections, addresses, isForwarded, attack } of UNREAD) {
    const number = world.size(...connections)
    if (number === 0) continue
    const from = Array.from({ length: addresses }, (_, n) => `127.0.0.${n + 2}`)
    const what = `${number} connections of ${addresses} addresses that send ${done} and read nothing`
    await judge(world, data, what, {
      isForwarded: isForwarded === true,
      attackOf: (application) => ({ ...attack(application), connections: number, from, once: true }),
    })
  }
  await checksOnPostgres(world)
}

async function checksOnPostgres(world: World): Promise<void> {
  const postgres = await runPostgres({}).catch((error: Error) => {
    if (/No PostgreSQL/.test(error.message)) return undefined
    throw error
  })
  if (!postgres) return world.skip('checks on PostgreSQL', 'it needs PostgreSQL')
  try {
    const store = fillStore(world, { DATABASE_URL: await postgres.createDatabase() }, 1)
    const shapes: [number, number][] = [
      [1024, 8],
      [512, 16],
      [256, 32],
    ]
    for (const [connections, inFlight] of shapes.slice(world.size(0, 2))) {
      const attack = {
        kind: 'requests' as const,
        request: CHECK,
        connections,
        inFlight,
        count: 1e12,
        from: ['127.0.0.2'],
      }
      const what = `PostgreSQL: ${connections} × ${inFlight} pipelined checks of unknown tokens from one address`
      await judge(world, store, what, { isForwarded: false, attackOf: () => attack })
    }
  } finally {
    await postgres.stop()
  }
}

async function judge(
  world: World,
  store: Store,
  done: string,
  { isForwarded, attackOf }: { isForwarded: boolean; attackOf: (application: Credentials) => Omit<Attack, 'port'> },
): Promise<void> {
  const server = await startServer(world, store)
  const [application] = store.applications
  const client = openClient(server.port)
  const token = (await client.token(application)) as string
  client.close()
  if (isForwarded) await forward(server)
  const readiness = watchReadiness(server)
  const rounds = await measureAttack(world, server, { good: { application, token }, attack: attackOf(application) })
  const { asked, failed } = await readiness.stop()
  const { peak } = server.memory()
  const { requests, refused, refusedIdle, memory, grown, ratio, attacked, idle } = rounds
  world.expect(
    refused.length + refusedIdle.length + failed === 0 && asked > 0 && peak <= PEAK,
    done,
    `${requests} good requests: ${refused.length} refused (${[...new Set(refused)]}); ${asked} times asked whether it is ready: ${failed} times not; ${Math.round(peak)} MiB at most`,
  )
  const times = `p99 ${attacked.toFixed(1)} ms, idle ${idle.toFixed(1)} ms, ratio ${ratio.toFixed(2)}`
  await sleep(world.size(REST_MS, 0))
  const [before, after] = [Math.round(memory - grown), Math.round(server.memory().now)]
  world.report(done, `${times}; ${before} MiB before, ${after} afterwards`)
  await server.stop()
}

/** Makes the server take 127.0.0.2 for a proxy. */
async function forward({ port }: Server): Promise<void> {
  await new Promise((resolve) => {
    dial({ port, localAddress: '127.0.0.2' }).on('close', resolve).resume().write(FORWARDED)
  })
}

function watchReadiness({ port }: Server) {
  const found = { asked: 0, failed: 0 }
  let isOver = false
  const client = openClient(port)
  const watching = (async () => {
    for (; !isOver; await sleep(100)) {
      found.asked++
      if ((await client.status(READY).catch(() => 0)) !== 200) found.failed++
    }
    client.close()
    return found
  })()
  return {
    stop() {
      isOver = true
      return watching
    },
  }
}
