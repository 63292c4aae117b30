import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../../../test/support/free-port.ts'
import { measureAttack, type Rounds, startAttack } from '../flood/attacked.ts'
import { crowds } from '../flood/crowds.ts'
import type { Trial, World } from '../trial.ts'
import { openClient, tokenRequest } from '../world/client.ts'
import { type Data, makeData, runCommand } from '../world/data.ts'
import { scheme } from '../world/dial.ts'
import { type Server, startServer } from '../world/server.ts'

/** MiB. A connection with TLS takes more. */
const MEMORY = scheme() === 'https' ? 400 : 300
const GROWTH = 8
const PIPELINES = 60
const SETTLED = 1

const WARM_UPS = 12

/** How often a name occurs in each warm-up: too rarely for its failures to be answered late. */
const FEW = 2

/** Good clients are at 127.0.0.1. The connections of one address are limited, so large attacks use several addresses. */
const OTHERS = Array.from({ length: 32 }, (_, n) => `127.0.0.${n + 2}`)
const OTHER = '127.0.0.2'

/** Addresses of documentation (RFC 5737), which no rule for private networks exempts. */
const ATTACKER = 'X-Forwarded-For: 203.0.113.7\r\n'
const GOOD = 'X-Forwarded-For: 198.51.100.9\r\n'
const BEHIND_A_PROXY = { TRUST_PROXY: '127.0.0.1' }

export const flood: Trial = {
  name: 'flood',
  title: 'floods of requests and connections, with good clients beside them',
  async run(world) {
    const data = makeData(world, join(world.folder, 'data'), 4)
    await unread(world, data)
    await threePorts(world, data)
    await crowds(world, data)
    await guesses(world, data)
    await connections(world, data)
    await manyNames(world, data)
    await neverUsed(world, data)
  },
}

/** A server of its own for each attack, and a good client's token at it. */
async function prepare(world: World, data: Data, settings: Record<string, string> = {}) {
  const server = await startServer(world, data, settings)
  const client = openClient(server.port)
  const application = data.applications[0]
  const token = (await client.token(application)) as string
  client.close()
  return { server, good: { application, token } }
}

async function unread(world: World, data: Data): Promise<void> {
  const { server, good } = await prepare(world, data)
  const request = 'GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n'
  const attack = { kind: 'unread' as const, connections: 200, request, from: [OTHER] }
  const once = await measureAttack(world, server, { good, attack: { ...attack, once: true } })
  judge(world, '200 connections that send without reading', once, 3)
  const again = await measureAttack(world, server, { good, attack })
  judge(world, 'the same, each connecting again as soon as it is ended', again, undefined)
  await server.stop()
}

/** The admin and ops ports share the process with the token endpoint. */
async function threePorts(world: World, data: Data): Promise<void> {
  const [admin, ops] = [await freePort(), await freePort()]
  const settings = { ADMIN_ADDRESS: `127.0.0.1:${admin}`, OPS_ADDRESS: `127.0.0.1:${ops}` }
  for (const [name, port, path] of [
    ['public', undefined, '/health/live'],
    ['admin', admin, '/login'],
    ['ops', ops, '/metrics'],
  ] as const) {
    const { server, good } = await prepare(world, data, settings)
    const request = `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`
    const attack = { kind: 'unread' as const, connections: 60, request, from: [OTHER], port: port ?? server.port }
    const done = `60 connections to the ${name} port that send without reading`
    const once = await measureAttack(world, server, { good, attack: { ...attack, once: true } })
    judge(world, done, once, 2)
    const again = await measureAttack(world, server, { good, attack })
    judge(world, `${done}, and connect again`, again, undefined)
    const withAgain = once.grown + Math.max(0, again.memory - once.memory)
    const found = `${Math.round(once.grown)} MiB more than before, at most ${PIPELINES}; ${Math.round(withAgain)} with those that connect again`
    world.expect(once.grown <= PIPELINES, `${done}, once`, found)
    await server.stop()
  }
}

async function guesses(world: World, data: Data): Promise<void> {
  const { server, good } = await prepare(world, data)
  const guess = { client_id: good.application.client_id, client_secret: 'wrong' }
  const beside = await measureAttack(world, server, { good, attack: { ...wrong(guess), from: [OTHER] } })
  judge(world, `wrong secrets from one address (${rate(beside)}/s answered)`, beside, 2)
  const inside = await measureAttack(world, server, { good, attack: wrong(guess) })
  judge(world, `the same, good clients at that address (${rate(inside)}/s answered)`, inside, undefined)
  await server.stop()
  const behind = await prepare(world, data, BEHIND_A_PROXY)
  const proxied = await measureAttack(world, behind.server, { good, attack: wrong(guess, ATTACKER), header: GOOD })
  judge(world, `the same through one proxy (${rate(proxied)}/s answered)`, proxied, undefined)
  await behind.server.stop()
}

async function connections(world: World, data: Data): Promise<void> {
  const { server, good } = await prepare(world, data)
  const slow = { kind: 'slow' as const, connections: world.size(1000, 300), from: OTHERS }
  const bySlow = await measureAttack(world, server, { good, attack: slow })
  judge(world, `${slow.connections} connections of 32 addresses that send a byte at a time`, bySlow, 3)
  for (const [kind, number, addresses] of [
    ['idle', world.size(4000, 500), OTHERS],
    ['idle', world.size(9500, 2000), OTHERS.slice(0, 10)],
    ['half-open', world.size(9500, 2000), OTHERS.slice(0, 10)],
    ['knock', world.size(1000, 200), OTHERS],
  ] as const) {
    const attack = { kind, connections: number, from: [...addresses] }
    const does = kind === 'knock' ? 'connections that are opened and left at once' : `${kind} connections`
    const done = `${number} ${does}, of ${addresses.length} addresses`
    judge(world, done, await measureAttack(world, server, { good, attack }), 3)
  }
  await server.stop()
}

function wrong(credentials: { client_id: string; client_secret: string }, header = '') {
  const request = tokenRequest(credentials, header)
  return { kind: 'requests', connections: 64, inFlight: 16, count: 1e12, request } as const
}

const rate = ({ attacks }: Rounds) =>
  Math.round(
    attacks.reduce((sum, { statuses }) => sum + total(statuses), 0) /
      attacks.reduce((sum, { seconds }) => sum + seconds, 0),
  )

const total = (statuses: Record<string, number>) => Object.values(statuses).reduce((sum, one) => sum + one, 0)

/** Judges by counts, and in a full run also by the ratio. */
function judge(world: World, done: string, rounds: Rounds, most: number | undefined): void {
  const { idle, attacked, ratio, requests, refused, refusedIdle, memory } = rounds
  const kinds = [...new Set(refused)].join(', ')
  world.expect(
    refused.length === 0 && refusedIdle.length === 0 && memory <= MEMORY,
    done,
    `${requests} good requests: ${refused.length} refused${kinds && ` (${kinds})`}; ${Math.round(memory)} MiB at most`,
  )
  const times = `p99 ${attacked.toFixed(1)} ms, idle ${idle.toFixed(1)} ms, ratio ${ratio.toFixed(2)}`
  if (most === undefined || world.size(0, 1) === 1) world.report(done, times)
  else world.expect(ratio <= most, done, `${times}, at most ${most}`)
}

/** Memory must not grow with names and addresses that an attacker invents. */
async function manyNames(world: World, data: Data): Promise<void> {
  const settle = `--expose-gc --require ${join(import.meta.dirname, '../flood/settle.cjs')}`
  const server = await startServer(world, data, { ...BEHIND_A_PROXY, NODE_OPTIONS: settle })
  const count = world.size(1_000_000, 50_000)
  const before = await warmUp(world, server, Math.ceil(count / 10))
  const { statuses } = await floodNames(world, server, { count, names: count })
  const after = await settledMemory(server)
  await server.stop()
  const grown = after - before
  const done = `${total(statuses)} wrong requests, each with a client id and an address of its own`
  const found = `${grown.toFixed(1)} MiB more memory (${before.toFixed(1)} before), at most ${GROWTH}; ${JSON.stringify(statuses)}`
  // A quick run is too short for a process to be as large as it gets by itself.
  if (world.size(0, 1) === 1) world.report(done, found)
  else world.expect(grown <= GROWTH, done, found)
}

/** Sends wrong requests with this many different client ids and addresses. */
function floodNames(world: World, { port }: Server, { count, names }: { count: number; names: number }) {
  const credentials = { client_id: 'nobody-00000000', client_secret: 'wrong' }
  // The number takes the place of as many digits, so the length of the body stays.
  const request = tokenRequest(credentials, 'X-Forwarded-For: @\r\n').replace('00000000', '#')
  return startAttack(world, { kind: 'requests', port, connections: 32, inFlight: 8, count, names, request }).ended
}

/** Sends requests with few names until they no longer raise the memory. Resolves to the resident memory, MiB. */
async function warmUp(world: World, server: Server, count: number): Promise<number> {
  const most = Math.max(count, 20_000)
  let before = 0
  for (let round = 0; round < world.size(WARM_UPS, 2); round++) {
    await floodNames(world, server, { count: most, names: most / FEW })
    const now = await settledMemory(server)
    world.step(`warmed up: ${now.toFixed(1)} MiB`)
    if (round > 2 && now - before < SETTLED) return now
    before = now
  }
  return before
}

/** Resident memory after garbage collection, MiB: the lowest of several samples. */
async function settledMemory(server: Server): Promise<number> {
  const samples: number[] = []
  for (let n = 0; n < 6; n++) {
    server.signal('SIGUSR2')
    await sleep(300)
    samples.push(server.memory().now)
  }
  return Math.min(...samples)
}

/** An imported secret that was not used since the start is slow to check, so a flood could keep its owner out. */
async function neverUsed(world: World, data: Data): Promise<void> {
  const file = join(world.folder, 'secret')
  const credentials = { client_id: 'imported-client', client_secret: 'an-imported-secret-of-a-partner' }
  writeFileSync(file, credentials.client_secret, { mode: 0o600 })
  const names = ['--name', 'Imported', '--developer-email', 'dev@partner.example']
  await runCommand(data, [
    'applications',
    'register',
    ...names,
    '--client-id',
    credentials.client_id,
    '--client-secret-file',
    file,
  ])

  const tries = world.size(5, 2)
  const waits: number[] = []
  const statuses: number[] = []
  for (let n = 0; n < tries; n++) {
    const server = await startServer(world, data, BEHIND_A_PROXY)
    const junk = { ...credentials, client_secret: 'junk' }
    const attack = startAttack(world, { ...wrong(junk, ATTACKER), port: server.port })
    await sleep(1500)
    const client = openClient(server.port, { timeout: 30_000 })
    const startedAt = performance.now()
    statuses.push(await client.status(tokenRequest(credentials, GOOD)).catch(() => 0))
    waits.push(performance.now() - startedAt)
    client.close()
    await attack.stop()
    await server.stop()
  }
  const passed = statuses.filter((status) => status === 200).length
  world.expect(
    passed === tries,
    'an imported secret, not used since the start, while another address floods junk at it',
    `${passed} of ${tries} got a token at the first try (${[...new Set(statuses)]}), after ${Math.round(Math.max(...waits))} ms at most`,
  )
}
