import { setTimeout as sleep } from 'node:timers/promises'
import { type Disk, openDisk } from '../disk/disk.ts'
import type { Trial, World } from '../trial.ts'
import { type Client, openClient } from '../world/client.ts'
import { type Data, makeData, runCommand } from '../world/data.ts'
import { startServer } from '../world/server.ts'

const SECOND = 1_000_000_000n
const HOUR = 3600n * SECOND

/** Longer than the purge waits between two of its steps. */
const PURGED_MS = 11_500

const TOKENS = 20

export const clock: Trial = {
  name: 'clock',
  title: 'clocks that jump or differ: valid tokens stay valid, what was revoked is refused',
  async run(world) {
    const device = openDisk(world, 'clock')
    const data = makeData(world, device.folder, 7, device.env)
    const server = await startServer(world, data)
    const client = openClient(server.port)
    const subject = { world, device, data, client }
    await jumpAhead(subject)
    await stepBack(subject)
    await revokeAhead(subject)
    await nearTheEpoch(subject)
    await rotateElsewhere(subject)
    client.close()
    await server.stop()
    const failed = server
      .log()
      .split('\n')
      .filter((line) => /"level":"(error|fatal)"/.test(line)).length
    world.expect(failed === 0, 'all of that', `${failed} errors in the log`)
  },
}

interface Subject {
  world: World
  device: Disk
  data: Data
  client: Client
}

/** Moves the wall clock of the server and of the commands, in nanoseconds relative to the machine's. */
const set = ({ device }: Subject, offset: bigint) => device.set('clockOffset', offset)

async function issue({ client, data }: Subject, application: number): Promise<string[]> {
  const tokens: string[] = []
  for (let n = 0; n < TOKENS; n++) {
    const token = await client.token(data.applications[application] as Data['suite'])
    if (token) tokens.push(token)
  }
  return tokens
}

async function countValid({ client }: Subject, tokens: string[]): Promise<number> {
  let valid = 0
  for (const token of tokens) if (await client.isValid(token)) valid++
  return valid
}

const revokeAll = ({ data }: Subject, application: number) =>
  runCommand(data, ['tokens', 'revoke-all', data.applications[application]?.client_id as string])

async function jumpAhead(subject: Subject): Promise<void> {
  const tokens = await issue(subject, 0)
  set(subject, 2n * HOUR)
  await sleep(PURGED_MS)
  set(subject, 0n)
  const valid = await countValid(subject, tokens)
  subject.world.expect(
    tokens.length === TOKENS && valid === TOKENS,
    `two hours ahead for ${PURGED_MS / 1000} s, and back`,
    `${valid} of ${tokens.length} tokens valid`,
  )
}

async function stepBack(subject: Subject): Promise<void> {
  const tokens = await issue(subject, 1)
  set(subject, -5n * SECOND)
  await revokeAll(subject, 1)
  const left = await countValid(subject, tokens)
  const later = await countValid(subject, await issue(subject, 1))
  set(subject, 0n)
  subject.world.expect(
    tokens.length === TOKENS && left === 0 && later === TOKENS,
    'five seconds back, then revoke-all',
    `${left} of ${tokens.length} tokens left; ${later} of ${TOKENS} new ones valid`,
  )
}

async function revokeAhead(subject: Subject): Promise<void> {
  set(subject, 2n * HOUR)
  const ahead = await issue(subject, 2)
  await revokeAll(subject, 2)
  set(subject, 0n)
  const tokens = await issue(subject, 2)
  const valid = await countValid(subject, tokens)
  await revokeAll(subject, 2)
  const left = await countValid(subject, [...ahead, ...tokens])
  subject.world.expect(
    tokens.length === TOKENS && valid === TOKENS && left === 0,
    'revoke-all two hours ahead; back; tokens; revoke-all',
    `${valid} of ${tokens.length} tokens valid between; ${left} of ${ahead.length + tokens.length} left`,
  )
}

async function nearTheEpoch(subject: Subject): Promise<void> {
  const before = await issue(subject, 3)
  set(subject, 1000n * SECOND - BigInt(Date.now()) * 1_000_000n)
  const tokens = await issue(subject, 4)
  const valid = await countValid(subject, tokens)
  await sleep(PURGED_MS)
  await revokeAll(subject, 4)
  const left = await countValid(subject, tokens)
  set(subject, 0n)
  const still = await countValid(subject, before)
  subject.world.expect(
    tokens.length === TOKENS && valid === TOKENS && left === 0 && still === TOKENS,
    'in 1970, and back',
    `${valid} of ${tokens.length} tokens valid, ${left} after revoke-all; ${still} of ${before.length} earlier ones valid afterwards`,
  )
}

/** A command has a clock of its own, as on another machine. A rotation without an overlap must end the old secret at once. */
async function rotateElsewhere({ world, data }: Subject): Promise<void> {
  const elsewhere = openDisk(world, 'clock-of-commands')
  const command = { ...data, env: { ...data.env, ...elsewhere.env } }
  const servers = [await startServer(world, data, { WORKERS: '2' }), await startServer(world, data)]
  const clients = servers.flatMap(({ port }) => Array.from({ length: 4 }, () => openClient(port)))
  for (const [application, hours, name] of [
    [5, 1n, 'ahead'],
    [6, -1n, 'behind'],
  ] as const) {
    const old = data.applications[application] as Data['suite']
    const used = await countTokens(clients, old)
    elsewhere.set('clockOffset', hours * HOUR)
    const { client_secret } = await runCommand(command, ['secrets', 'rotate', old.client_id, '--overlap', '0'])
    const left = await countTokens(clients, old)
    const next = await countTokens(clients, { ...old, client_secret: String(client_secret) })
    world.expect(
      used === clients.length && left === 0 && next === clients.length,
      `secrets rotate --overlap 0 by a command whose clock is an hour ${name}`,
      `the old secret gets ${left} tokens, the new one ${next}, in ${clients.length} requests to two servers`,
    )
  }
  for (const client of clients) client.close()
  for (const server of servers) await server.stop()
}

async function countTokens(clients: Client[], credentials: Data['suite']): Promise<number> {
  const tokens = await Promise.all(clients.map((client) => client.token(credentials)))
  return tokens.filter((token) => token !== undefined).length
}
