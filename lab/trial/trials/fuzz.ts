import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { attackAdmin } from '../fuzz/admin.ts'
import { type Ending, exchange } from '../fuzz/exchange.ts'
import { createGrammar } from '../fuzz/grammar.ts'
import { isJson } from '../fuzz/is-json.ts'
import { CANARY, type Known, type Request } from '../fuzz/known.ts'
import { mutate } from '../fuzz/mutate.ts'
import type { Trial, World } from '../trial.ts'
import { openClient } from '../world/client.ts'
import { type Data, makeData, runCommand } from '../world/data.ts'
import { type Server, startServer } from '../world/server.ts'

/** Concurrent connections, and the limit for the memory of a worker in MiB. */
const CONNECTIONS = 24
const MEMORY = 350

export const fuzz: Trial = {
  name: 'fuzz',
  title: 'malformed and hostile requests over raw sockets, at every endpoint and at the admin listener',
  async run(world) {
    const { requests } = world.sizes
    await attack(world, { workers: 1, limits: 'off', requests: Math.ceil(requests * 0.7) })
    await attack(world, { workers: 2, limits: 'off', requests: Math.ceil(requests * 0.25) })
    // Few, because the server delays clients that are refused too often.
    await attack(world, { workers: 1, limits: 'on', requests: Math.ceil(requests * 0.05) })
    await attackAdmin(world, Math.ceil(requests * 0.3))
  },
}

interface Attack {
  workers: number
  /** Whether failures are limited: the setting FAILURE_LIMIT. */
  limits: 'on' | 'off'
  requests: number
}

interface Counts {
  requests: number
  connections: number
  issued: number
  passed: number
  wronglyAccepted: number
  forbidden5xx: number
  hung: number
  validRefused: number
}

async function attack(world: World, { workers, limits, requests }: Attack): Promise<void> {
  const folder = join(world.folder, `${workers}-${limits}`)
  const data = makeData(world, folder, 2)
  const server = await startServer(world, data, { WORKERS: String(workers), FAILURE_LIMIT: limits })
  const known = await prepare(server, data)
  const grammar = createGrammar(known, world.random)
  const counts: Counts = {
    requests: 0,
    connections: 0,
    issued: 0,
    passed: 0,
    wronglyAccepted: 0,
    forbidden5xx: 0,
    hung: 0,
    validRefused: 0,
  }
  let reported = 0

  async function loop(): Promise<void> {
    while (counts.requests < requests) {
      await attackOnce(world, server.port, grammar, counts)
      if (counts.requests >= reported + requests / 5) {
        reported = counts.requests
        world.step(`${counts.requests} requests, ${counts.issued} tokens, ${Math.round(server.memory().now)} MiB`)
      }
    }
  }

  await Promise.all(Array.from({ length: CONNECTIONS }, loop))
  await judge(world, { server, data, known, counts, workers, limits })
}

async function prepare(server: Server, data: Data): Promise<Known> {
  const [application, suspended] = data.applications
  if (!suspended) throw new Error('Two applications are needed.')
  const client = openClient(server.port)
  const [token, revokedToken] = [await client.token(application), await client.token(application)]
  if (!token || !revokedToken) throw new Error('The server issues no tokens.')
  await client.revoke(application, revokedToken)
  client.close()
  await runCommand(data, ['applications', 'suspend', suspended.client_id])
  return { application, suspended, suite: data.suite, token, revokedToken }
}

/** One connection with valid, generated or randomly mutated requests. */
async function attackOnce(
  world: World,
  port: number,
  grammar: ReturnType<typeof createGrammar>,
  counts: Counts,
): Promise<void> {
  const { random } = world
  const kind = random.pick(['valid', 'grammar', 'grammar', 'grammar', 'mutated', 'mutated'])
  const length = random.chance(0.3) ? random.between(2, kind !== 'valid' && random.chance(0.1) ? 100 : 8) : 1
  const requests = Array.from({ length }, kind === 'grammar' ? grammar.any : grammar.valid)
  const whole = requests.map(({ text }) => text).join('')
  const text = kind === 'mutated' ? mutate(whole, random) : whole
  const ending: Ending = kind === 'valid' ? 'wait' : random.pick(['half-close', 'half-close', 'half-close', 'leave'])
  const stays = kind !== 'valid' && random.chance(0.002)
  const { received, hung } = await exchange(port, text, { ending: stays ? 'stay' : ending, answers: length, random })
  counts.requests += length
  counts.connections++
  note({ received, hung, requests, kind, text }, world, counts)
}

function note(
  {
    received,
    hung,
    requests,
    kind,
    text,
  }: { received: string; hung: boolean; requests: Request[]; kind: string; text: string },
  world: World,
  counts: Counts,
): void {
  const statuses = [...received.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status]) => Number(status))
  const issued = received.match(/"access_token":/g)?.length ?? 0
  const passed = received.match(/\r\nx-token-id:|"active":true/gi)?.length ?? 0
  const mayIssue = requests.filter((request) => request.mayIssue).length
  const mayPass = requests.filter((request) => request.mayPass).length
  counts.issued += issued
  counts.passed += passed
  const say = (what: string) =>
    world.step(`${what}: ${JSON.stringify(text.slice(0, 600))} -> ${JSON.stringify(received.slice(0, 300))}`)
  // A mutated request may have become two requests with the same valid credentials.
  if (kind !== 'mutated' && (issued > mayIssue || passed > mayPass)) {
    counts.wronglyAccepted++
    say('wrongly accepted')
  }
  if (statuses.some((status) => status >= 500 && status !== 503)) {
    counts.forbidden5xx++
    say('a 5xx')
  }
  if (hung && ++counts.hung <= 5) say('hung')
  if (kind === 'valid' && statuses.filter((status) => status === 200).length < requests.length) {
    if (counts.validRefused++ < 5) say('refused')
  }
}

async function judge(
  world: World,
  {
    server,
    data,
    known,
    counts,
    workers,
    limits,
  }: Omit<Attack, 'requests'> & { server: Server; data: Data; known: Known; counts: Counts },
): Promise<void> {
  const client = openClient(server.port)
  const isAlive = (await client.token(known.application)) !== undefined && (await client.isValid(known.token))
  client.close()
  const { peak } = server.memory()
  await server.stop()
  const log = server.log()
  const lines = log.split('\n').filter((line) => line !== '')
  const notJson = lines.filter((line) => !isJson(line)).length
  const files = globSync(`${data.file}*`).map((file) => readFileSync(file, 'latin1'))
  const secrets = [CANARY, known.application.client_secret, known.suite.client_secret, known.token, known.revokedToken]
  const leaks = [log, server.errors(), ...files].filter((text) =>
    secrets.some((secret) => text.includes(secret)),
  ).length

  const who = `${counts.requests} requests, ${workers} worker${workers === 1 ? '' : 's'}, limits ${limits}`
  const { issued, passed, wronglyAccepted, forbidden5xx, hung, validRefused } = counts
  world.expect(
    wronglyAccepted === 0 && issued > 0 && passed > 0,
    who,
    `${issued} tokens, ${passed} checks: ${wronglyAccepted} wrongly accepted`,
  )
  world.expect(forbidden5xx === 0, who, `${forbidden5xx} × 5xx other than 503`)
  world.expect(hung === 0, `${who}, ${counts.connections} connections`, `${hung} hung`)
  world.expect(validRefused === 0, who, `${validRefused} connections with refused valid requests`)
  world.expect(
    leaks === 0 && notJson === 0,
    who,
    `${lines.length} lines of log: ${notJson} not JSON, ${leaks} files with a secret`,
  )
  world.expect(
    isAlive && peak < MEMORY * workers,
    who,
    `${isAlive ? 'alive' : 'dead'} at the end, ${Math.round(peak)} MiB at most`,
  )
}
