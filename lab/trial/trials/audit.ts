import { spawnSync } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { copyFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import Database from 'better-sqlite3'
import type * as Chain from '../../../src/administration/audit-chain.ts'
import type { AuditHead } from '../../../src/domain/audit-chain.ts'
import type { openStore as OpenStore } from '../../../src/store/open.ts'
import { KINDS, type Tampering, tamper } from '../audit/tamper.ts'
import type { Trial, World } from '../trial.ts'
import { type Data, makeData, runCommand, startSeed } from '../world/data.ts'
import { kill } from '../world/server.ts'

const APPLICATIONS = 150

/** How many applications a seed that is killed has, and the longest time until then, in milliseconds. */
const SEEDED = 4000
const LONGEST = 2500

export const audit: Trial = {
  name: 'audit',
  title: 'the audit trail is changed by hand, and who writes it is killed: does audit verify tell?',
  async run(world) {
    const files = makeKeys(world)
    const data = makeData(world, join(world.folder, 'data'), APPLICATIONS, { AUDIT_KEY_FILE: files.key })
    const [{ client_id }] = data.applications
    for (const what of ['suspend', 'resume', 'suspend']) await runCommand(data, ['applications', what, client_id])
    const head = JSON.stringify(await runCommand(data, ['audit', 'head']))
    writeFileSync(files.head, head)
    await runCommand(data, ['applications', 'resume', client_id])
    const status = verify(data, files)
    world.expect(status === 0, 'nothing was changed by hand', `audit verify ends with ${status}`)
    await changeByHand(world, data, files, head)
    await killWriters(world, data)
  },
}

type Files = ReturnType<typeof makeKeys>

function makeKeys({ folder }: World) {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  const files = {
    key: join(folder, 'key.pem'),
    publicKey: join(folder, 'public.pem'),
    head: join(folder, 'head.json'),
  }
  writeFileSync(files.key, privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 })
  writeFileSync(files.publicKey, publicKey.export({ type: 'spki', format: 'pem' }))
  return files
}

/** Runs `audit verify`, with the head if there are files of one. Returns its exit status. */
function verify({ checkout, env }: Pick<Data, 'checkout' | 'env'>, files?: Files): number | null {
  const head = files ? ['--head', files.head, '--public-key', files.publicKey] : []
  const args = [checkout.main, 'audit', 'verify', ...head]
  return spawnSync(process.execPath, args, { env: { PATH: process.env.PATH, ...env } }).status
}

/** Changes copies of the database with SQL. The program under trial must find that in each, before the head. */
async function changeByHand(world: World, data: Data, files: Files, json: string): Promise<void> {
  const { openStore } = (await import(join(world.program, 'src/store/open.ts'))) as { openStore: typeof OpenStore }
  const chain = (await import(join(world.program, 'src/administration/audit-chain.ts'))) as typeof Chain
  const head = chain.parseHead(json, await chain.readPublicKey(files.publicKey))
  const file = join(world.folder, 'changed.db')
  const env = { DATABASE_URL: `sqlite:${file}` }

  async function problemOf(known?: AuditHead) {
    const store = await openStore({ kind: 'sqlite', file }, { lockTimeout: 2000 })
    const { problem } = await chain.verifyAudit(store, Date.now(), known).finally(store.close)
    return problem
  }

  const tried: (Tampering & Record<'isSeen' | 'isNamed' | 'isSeenAlone', boolean>)[] = []
  const count = world.size(1000, 120)
  while (tried.length < count) {
    for (const name of [file, `${file}-wal`, `${file}-shm`]) rmSync(name, { force: true })
    copyFileSync(data.file, file)
    const db = new Database(file)
    const done = tamper(db, world.random, head.id)
    const next = Number(db.prepare('SELECT min(id) FROM audit_events WHERE id >= ?').pluck().get(done.first))
    db.close()
    // The exit status of the command, before the program chains what has no hash.
    const isFailure = tried.length % 50 !== 0 || verify({ ...data, env }, files) === 1
    const problem = isFailure ? await problemOf(head) : undefined
    const isNamed = problem !== undefined && problem.event >= done.first && problem.event <= next + 1
    tried.push({ ...done, isSeen: problem !== undefined, isNamed, isSeenAlone: (await problemOf()) !== undefined })
    if (tried.length % 100 === 0) world.step(`${tried.length} changes by hand`)
  }
  const unseen = tried.filter(({ isSeen }) => !isSeen)
  const kinds = Map.groupBy(tried, ({ kind }) => kind)
  const each = Object.keys(KINDS).map((kind) => {
    const all = kinds.get(kind as Tampering['kind']) ?? []
    const atPlace = all.filter(({ isNamed }) => isNamed).length
    const alone = all.filter(({ isSeenAlone }) => isSeenAlone).length
    return `${all.length} ${kind} (${atPlace} named at the place, ${alone} also seen without the head)`
  })
  world.expect(
    unseen.length === 0,
    `${count} changes by SQL up to the head: ${each.join(', ')}`,
    `${count - unseen.length} detected${unseen.map(({ kind, first }) => `; not: ${kind} from ${first}`).join('')}`,
  )
}

/** Kills commands that write audit events, at any moment. What they leave must be one chain. */
async function killWriters(world: World, { checkout, env, file }: Data): Promise<void> {
  const kills = Math.ceil(world.sizes.kills / 4)
  const place = { checkout, env }
  let broken = 0
  for (let nth = 1; nth <= kills; nth++) {
    const child = startSeed(place, { applications: applicationsOf(nth) })
    const ended = once(child, 'close')
    await Promise.race([sleep(world.random.between(200, LONGEST)), ended])
    kill([child.pid as number])
    await ended
    if (verify(place) !== 0) broken++
  }
  const db = new Database(file, { readonly: true })
  const events = db.prepare('SELECT count(*) FROM audit_events').pluck().get()
  db.close()
  world.expect(broken === 0, `kill -9 of seed, ${kills} times`, `${events} events, ${broken} times not one chain`)
}

function applicationsOf(nth: number) {
  return Array.from({ length: SEEDED }, (_, at) => ({
    name: `Application ${nth}-${at}`,
    developer_email: 'dev@partner.example',
  }))
}
