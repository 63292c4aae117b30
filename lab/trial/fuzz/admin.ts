import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '../../../test/support/free-port.ts'
import type { World } from '../trial.ts'
import { type Data, makeData, runCommand } from '../world/data.ts'
import { scheme } from '../world/dial.ts'
import { addOperator, logIn } from '../world/operator.ts'
import { startServer } from '../world/server.ts'
import { type AdminKnown, type AdminRequest, type Credentials, createAdminGrammar } from './admin-grammar.ts'
import { type Ending, exchange } from './exchange.ts'
import { isJson } from './is-json.ts'
import { CANARY } from './known.ts'
import { mutate } from './mutate.ts'

/** Concurrent connections (the listener allows 64), and the limit for the server's memory in MiB. */
const CONNECTIONS = 16
const MEMORY = 400

interface Counts {
  requests: number
  connections: number
  /** Requests that succeeded. */
  passed: number
  wronglyAccepted: number
  forbidden5xx: number
  hung: number
  validRefused: number
  disclosed: number
}

/** Attacks the API and the console with credentials of an admin, of a viewer, and without any. */
export async function attackAdmin(world: World, requests: number): Promise<void> {
  const data = makeData(world, join(world.folder, 'admin'), 2)
  const port = await freePort()
  data.env.ADMIN_ADDRESS = `127.0.0.1:${port}`
  // With the limit on, few refusals would be logged, and the log is searched for secrets.
  const server = await startServer(world, data, { FAILURE_LIMIT: 'off' })
  const known = await prepare(data, port)
  const grammar = createAdminGrammar(known, world.random)
  const secrets = [known.admin, known.viewer].flatMap(({ key, session }) => [key, session])
  secrets.push(
    known.revokedKey,
    ...data.applications.map(({ client_secret }) => client_secret),
    data.suite.client_secret,
  )
  const counts: Counts = {
    ...{ requests: 0, connections: 0, passed: 0, wronglyAccepted: 0 },
    ...{ forbidden5xx: 0, hung: 0, validRefused: 0, disclosed: 0 },
  }

  async function loop(): Promise<void> {
    while (counts.requests < requests) await attackOnce(world, { port, grammar, secrets, counts })
  }

  await Promise.all(Array.from({ length: CONNECTIONS }, loop))
  const isAlive = (await statusOf(world, port, grammar.valid().text)) === 200
  const { peak } = server.memory()
  await server.stop()
  const log = server.log()
  const lines = log.split('\n').filter((line) => line !== '')
  const notJson = lines.filter((line) => !isJson(line)).length
  const files = globSync(`${data.file}*`).map((file) => readFileSync(file, 'latin1'))
  const leaks = [log, server.errors(), ...files].filter((text) =>
    [CANARY, ...secrets].some((secret) => text.includes(secret)),
  ).length

  const who = `${counts.requests} requests to the admin listener`
  const { connections, passed, wronglyAccepted, forbidden5xx, hung, validRefused, disclosed } = counts
  world.expect(wronglyAccepted === 0 && passed > 0, who, `${passed} passed: ${wronglyAccepted} wrongly accepted`)
  world.expect(forbidden5xx === 0, who, `${forbidden5xx} × 5xx other than 503`)
  world.expect(hung === 0, `${who}, ${connections} connections`, `${hung} hung`)
  world.expect(validRefused === 0, who, `${validRefused} connections with refused valid requests`)
  world.expect(
    leaks === 0 && notJson === 0 && disclosed === 0,
    who,
    `${lines.length} lines of log: ${notJson} not JSON, ${leaks} files and ${disclosed} answers with a secret`,
  )
  const memory = `${Math.round(peak)} MiB at most`
  world.expect(isAlive && peak < MEMORY, who, `${isAlive ? 'alive' : 'dead'} at the end, ${memory}`)
}

/** Adds an admin and a viewer, each with a key and a session, and an operator whom the fuzzer may remove. */
async function prepare(data: Data, port: number): Promise<AdminKnown> {
  const credentialsOf = async (name: string, role: string): Promise<Credentials> => {
    const key = await addOperator(data, name, role)
    return { key, session: (await logIn(data, name, port)).split('=')[1] as string }
  }
  const [admin, viewer] = [await credentialsOf('anna', 'admin'), await credentialsOf('viktor', 'viewer')]
  const revokedKey = await addOperator(data, 'ben', 'admin')
  await runCommand(data, ['operators', 'revoke-key', 'ben', '3'])
  const [kept, victim] = data.applications
  const login = await (await fetch(`${scheme()}://127.0.0.1:${port}/login`)).text()
  const assets = [...new Set(login.match(/\/assets\/[^"]+/g))]
  if (assets.length === 0) throw new Error('The login page names no files.')
  return { admin, viewer, revokedKey, clientId: kept.client_id, victim: String(victim?.client_id), assets }
}

interface Attack {
  port: number
  grammar: ReturnType<typeof createAdminGrammar>
  secrets: string[]
  counts: Counts
}

/** One connection with valid, generated or randomly mutated requests. */
async function attackOnce(world: World, { port, grammar, secrets, counts }: Attack): Promise<void> {
  const { random } = world
  const kind = random.pick(['valid', 'grammar', 'grammar', 'grammar', 'mutated'])
  const length = random.chance(0.2) ? random.between(2, 6) : 1
  const requests = Array.from({ length }, kind === 'grammar' ? grammar.any : grammar.valid)
  const whole = requests.map(({ text }) => text).join('')
  const text = kind === 'mutated' ? mutate(whole, random) : whole
  const { received, hung } = await exchange(port, text, {
    ending: endingFor(kind, world),
    answers: length,
    random,
  })
  counts.requests += length
  counts.connections++
  const statuses = [...received.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status]) => Number(status))
  const passed = statuses.filter((status) => status >= 200 && status < 300).length
  counts.passed += passed
  const say = (what: string) =>
    world.step(`${what}: ${JSON.stringify(text.slice(0, 600))} -> ${JSON.stringify(received.slice(0, 300))}`)

  if (kind === 'grammar' && isWronglyAccepted(requests, received, passed)) {
    counts.wronglyAccepted++
    say('wrongly accepted')
  }
  if (statuses.some((status) => status >= 500 && status !== 503)) {
    counts.forbidden5xx++
    say('a 5xx')
  }
  if (secrets.some((secret) => received.includes(secret)) && counts.disclosed++ < 5) say('a secret')
  if (hung && counts.hung++ < 5) say('hung')
  if (kind === 'valid' && passed < length && counts.validRefused++ < 5) say('refused')
}

/** Whether more requests succeeded than may. A form that succeeds redirects. */
function isWronglyAccepted(requests: AdminRequest[], received: string, passed: number): boolean {
  const redirects = received.match(/\r\nlocation: (?!\/login)/g)?.length ?? 0
  return passed + redirects > requests.filter(({ mayPass }) => mayPass).length
}

function endingFor(kind: string, { random }: World): Ending {
  return kind === 'valid' ? 'wait' : random.pick(['half-close', 'half-close', 'half-close', 'leave'])
}

async function statusOf({ random }: World, port: number, text: string): Promise<number> {
  const { received } = await exchange(port, text, { ending: 'wait', answers: 1, random })
  return Number(/^HTTP\/1\.1 (\d{3})/.exec(received)?.[1])
}
