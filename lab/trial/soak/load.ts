import { randomUUID } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Credentials } from '../../bench/world/checkout.ts'
import { introspectRequest } from '../../bench/world/requests.ts'
import type { World } from '../trial.ts'
import { type Client, openClient, type Ports, tokenRequest } from '../world/client.ts'
import { runCommand, type Store } from '../world/data.ts'
import { audit, type Entry, startLoad } from '../world/ledger.ts'

/** How many connections do each, and the longest pause after a request, milliseconds: half of it on average. */
const TOKENS = { connections: 8, pause: 60 }
const CHECKS = { connections: 8, pause: 12 }
const INTROSPECTIONS = { connections: 2, pause: 24 }
const WRONG_SECRETS = { connections: 1, pause: 100 }
const CHANGES = { connections: 1, pause: 500 }
const PAGES = { connections: 1, pause: 1000 }
const APPLY = { connections: 1, pause: 60_000 }

/** Which of the last tokens are checked, and which are audited: none that expires meanwhile. */
const CHECKED = 200_000
const AUDITED_NS = 50n * 60n * 1_000_000_000n

/** How many of the secrets and applications that have ended are tried at the end: throttled answers take a second or two. */
const TRIED = 200
const TRIERS = 16

/** How many applications are registered, at least, before others are removed. */
const REGISTERED = 20

const READS = [
  '/applications',
  '/applications?search=soak',
  '/suites/store',
  '/audit-events',
  '/statistics',
  '/refusals',
]
const CONSOLE = ['/', '/applications', '/applications?search=soak', '/suites/store', '/audit', '/refusals', '/secrets']

interface Target {
  /** Its checkout, which makes the changes by commands, may be another one later. */
  store: Store
  port: Ports
  adminPort: Ports
  adminKey: string
  /** Of the console. */
  cookie: string
}

/** Asks for everything that the server does, at a bounded rate, until it is stopped, and records what was acknowledged. */
export function startMixedLoad(world: World, { store, port, adminPort, adminKey, cookie }: Target) {
  const { random } = world
  const ledger: Entry[] = []
  const registered: Credentials[] = []
  /** What no longer gets a token: replaced secrets, and removed applications. */
  const ended: Credentials[] = []
  /** The note of the last file that was applied. */
  let applied: string | undefined
  /** Answers that contradict what was acknowledged, and answers that nobody expects. */
  const found = { wrong: 0, unexpected: new Map<string, number>() }
  let requests = 0
  const over = new AbortController()

  /** Repeats a request on connections of its own. */
  function repeat({ connections, pause }: typeof TOKENS, request: (client: Client) => Promise<unknown>, to = port) {
    return Array.from({ length: connections }, async () => {
      const client = openClient(to)
      while (!over.signal.aborted) {
        await request(client).catch((error: Error) => note(error.message))
        requests++
        await sleep(random.between(0, pause), undefined, { signal: over.signal }).catch(() => {})
      }
      client.close()
    })
  }

  function note(what: string | number): void {
    found.unexpected.set(String(what), (found.unexpected.get(String(what)) ?? 0) + 1)
  }

  /** Compares the answer for some token with what was acknowledged before the question and until the answer. */
  async function check(isValid: (token: string) => Promise<boolean>): Promise<void> {
    const entry = ledger[random.between(Math.max(0, ledger.length - CHECKED), ledger.length)]
    if (!entry) return
    const wasRevoked = entry.revokedAt !== undefined
    const valid = await isValid(entry.token)
    if (valid ? wasRevoked : entry.revokeSentAt === undefined) found.wrong++
  }

  async function introspect(client: Client, token: string): Promise<boolean> {
    const { status, body } = await client.send(introspectRequest(store.suite, token))
    if (status !== 200) throw new Error(`introspection: ${status}`)
    return JSON.parse(body).active
  }

  async function guess(client: Client): Promise<void> {
    const { client_id } = random.pick(store.applications)
    const status = await client.status(tokenRequest({ client_id, client_secret: 'wrong' }))
    if (status === 200) found.wrong++
    else if (status !== 401 && status !== 429) note(`wrong secret: ${status}`)
  }

  /** Sends a request to the admin listener. Resolves to the body. */
  async function admin(client: Client, line: string, headers: string, expected = 200, content = ''): Promise<string> {
    const type = content && `Content-Type: application/json\r\nContent-Length: ${content.length}\r\n`
    const head = `${line} HTTP/1.1\r\nHost: localhost\r\n${headers}\r\n${type}\r\n`
    const { status, body } = await client.send(head + content)
    if (status !== expected) throw new Error(`${line.replace(/[^/]+-[^/]+/, 'ID')}: ${status}`)
    return body
  }

  async function change(client: Client): Promise<void> {
    const call = (line: string, expected?: number, content?: object) =>
      admin(client, line, `Authorization: Bearer ${adminKey}`, expected, content && JSON.stringify(content))
    const choice = random.between(0, 6)
    if (choice > 2) return void (await call(`GET /admin/v1${random.pick(READS)}`))
    if (choice === 0 || registered.length <= REGISTERED) {
      const content = { name: `Soak ${randomUUID()}`, developer_email: 'dev@partner.example', suites: ['store'] }
      return void registered.push(JSON.parse(await call('POST /admin/v1/applications', 201, content)))
    }
    // Whatever becomes of the request: an answer that gets lost says nothing about it.
    const one = registered.shift() as Credentials
    const path = `/admin/v1/applications/${one.client_id}`
    if (choice === 1) registered.push(JSON.parse(await call(`POST ${path}/secrets`, 201, { overlap_seconds: 0 })))
    else await call(`DELETE ${path}`, 204)
    ended.push(one)
  }

  async function apply(): Promise<void> {
    const content = {
      client_id: 'applied',
      name: 'Applied',
      developer_email: 'dev@partner.example',
      note: randomUUID(),
    }
    const file = join(world.folder, 'apply.json')
    writeFileSync(file, JSON.stringify({ applications: [{ ...content, suites: ['store'] }] }))
    await runCommand(store, ['apply', file, '--yes', '--secrets-to', join(world.folder, 'applied')])
    applied = content.note
  }

  const habits = { ...TOKENS, revoke: 0.2, twice: 0.1 }
  const load = startLoad(port, { applications: store.applications, random, ledger, habits, note })
  // The name of the cookie has the port of the host that is asked.
  const headers = `Cookie: ${cookie.replace(/-\d+(?==)/, '')}`
  const loops = [
    ...repeat(CHECKS, (client) => check(client.isValid)),
    ...repeat(INTROSPECTIONS, (client) => check((token) => introspect(client, token))),
    ...repeat(WRONG_SECRETS, guess),
    ...repeat(CHANGES, change, adminPort),
    ...repeat(PAGES, (client) => admin(client, `GET ${random.pick(CONSOLE)}`, headers), adminPort),
    ...repeat(APPLY, apply),
  ]

  return {
    found,
    /** How many requests were answered so far. */
    requests: () => requests + ledger.length,
    async stop(): Promise<void> {
      over.abort()
      await Promise.all([load.stop(), ...loops])
    },

    /** Asks for everything that was acknowledged. Call it after `stop`. `holds`: whether all of it is there, and no answer was wrong. */
    async audit() {
      const since = process.hrtime.bigint() - AUDITED_NS
      const { lost, resurrected } = await audit(
        port,
        ledger.filter(({ issuedAt }) => issuedAt > since),
      )
      const unknown = registered.length - (await countIssued(port, registered))
      const revived = await countIssued(port, ended.slice(-TRIED))
      const shown = await runCommand(store, ['applications', 'show', 'applied'])
      const isApplied = applied !== undefined && shown.note === applied
      const [tokens, changes] = [ledger.length, registered.length + ended.length]
      const missing = lost + resurrected + unknown + revived + found.wrong
      return {
        holds: tokens > 0 && changes > 0 && isApplied && missing === 0,
        text: `${tokens} tokens: ${lost} lost, ${resurrected} resurrected; ${changes} changes: ${unknown} lost, ${revived} undone; the last apply: ${isApplied ? 'there' : 'lost'}; ${found.wrong} wrong answers; unexpected ones: ${JSON.stringify(Object.fromEntries(found.unexpected))}`,
      }
    },
  }
}

/** How many of them get a token. */
async function countIssued(port: Ports, all: Credentials[]): Promise<number> {
  const queue = all.values()
  let count = 0
  const loop = async () => {
    const client = openClient(port)
    for (const one of queue) if (await client.token(one)) count++
    client.close()
  }
  await Promise.all(Array.from({ length: TRIERS }, loop))
  return count
}
