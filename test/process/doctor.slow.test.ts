import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { type Diagnosis, worst } from '../../src/doctor/examine.ts'
import { freePort } from '../support/free-port.ts'
import { MOUNTS, mountFileSystem } from '../support/mount.ts'
import { startDatabases } from '../support/postgres/postgres.ts'
import { register } from '../support/register.ts'
import { command, MAIN, startServer } from '../support/spawn.ts'
import { temporaryDatabase } from '../support/temporary-database.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const isRoot = process.getuid?.() === 0
const NOBODY = 65534

/** What may be wrong with the machine that tests run on. */
const OF_THE_MACHINE = ['disk', 'limits']

const isBad = (level: string) => level === 'error' || level === 'warning'

/** What `doctor --json` says in a folder, and its exit status. */
async function examine(t: Test, env: NodeJS.ProcessEnv, cwd = temporaryFolder(t)) {
  const { out, err, status } = await command(t, ['doctor', '--json'], env, '', { cwd })
  const { findings, ...rest } = JSON.parse(out) as { findings: Diagnosis[]; status: string }
  const wrong = findings.filter(({ level, subject }) => isBad(level) && !OF_THE_MACHINE.includes(subject))
  return { ...rest, findings, wrong, err, exit: status }
}

/** Everything that can be seen of the files of a folder, but for the memory that readers share. */
function stateOf(folder: string) {
  return readdirSync(folder)
    .sort()
    .map((name) => {
      const path = join(folder, name)
      const { ino, mode, uid, mtimeMs } = statSync(path)
      return name.endsWith('-shm') ? [name, ino, mode, uid] : [name, ino, mode, uid, mtimeMs, readFileSync(path, 'hex')]
    })
}

t.test('Doctor: beside a server it finds all right, with its status 0, and changes nothing', async (t) => {
  const { env: database, folder } = temporaryDatabase(t)
  const credentials = await register(database)
  const PORT = String(await freePort())
  const env = {
    ...database,
    PORT,
    PUBLIC_URL: 'https://token.example',
    TRUST_PROXY: '127.0.0.1',
    OPS_ADDRESS: `127.0.0.1:${await freePort()}`,
    ADMIN_ADDRESS: `127.0.0.1:${await freePort()}`,
  }
  const server = await startServer(t, env)
  t.equal(await server.issue(credentials), 200)
  t.equal((await command(t, ['backup', join(temporaryFolder(t), 'copy.db')], env)).status, 0)
  const before = stateOf(folder)
  const { findings, wrong, status, exit, err } = await examine(t, env)
  t.strictSame([wrong, exit, err], [[], 0, ''])
  t.equal(status, worst(findings))
  t.strictSame(stateOf(folder), before)
  t.ok(findings.some(({ text }) => text === `The server at http://127.0.0.1:${PORT} is ready.`))
  t.ok(findings.some(({ text }) => text === `The admin listener answers at http://${env.ADMIN_ADDRESS}.`))
  t.match(findings.at(-1), { subject: 'ops', text: /^The server that runs is of this version, / })
  const { out } = await command(t, ['doctor'], env, '', { cwd: temporaryFolder(t) })
  t.match(out, /^ok {7}settings {2}HOST is 127\.0\.0\.1 \(default\)\n/)
  t.match(out, /\n\nerrors: 0, warnings: \d+, notes: \d+, ok: \d+\n$/)

  await server.stop('SIGKILL')
  const left = stateOf(folder)
  const down = await examine(t, env)
  t.match(down.wrong, [
    { subject: 'server', level: 'error', text: /^No server answers at / },
    { subject: 'admin', level: 'error', text: /^The admin listener does not answer at / },
    { subject: 'ops' },
  ])
  t.strictSame([down.status, down.exit, down.err], ['error', 1, '{"error":"Something is wrong."}\n'])
  t.match(
    down.findings.find(({ subject }) => subject === 'backup'),
    { level: 'ok' },
  )
  t.strictSame(stateOf(folder), left, 'what a crash has left is left')
})

t.test('Doctor: what looks wrong in .env is a warning, and warnings are no errors', async (t) => {
  const { env: database, file } = temporaryDatabase(t)
  const env = { ...database, PORT: `${await freePort()}` }
  await register(env)
  const folder = temporaryFolder(t)
  writeFileSync(join(folder, '.env'), `DATABASE_URL=sqlite:${file}\nPORT=0\nPROT=1\nCOMPOSE_FILE=x\n`)
  const read = await examine(t, {}, folder)
  t.match(
    read.findings
      .filter(({ subject }) => subject === 'settings')
      .map(({ text }) => text)
      .join('\n'),
    `sqlite:${file} (.env)`,
  )
  t.match(read.wrong, [
    { subject: 'settings', level: 'warning', text: 'There is no setting PROT (in .env). Is PORT meant?' },
    { subject: 'backup' },
  ])
  t.equal(read.exit, 0, 'warnings are no errors')
})

t.test('Doctor: on PostgreSQL nothing is wrong but that no server runs, and a password is not said', async (t) => {
  const { createEmptyDatabase } = await startDatabases()
  const DATABASE_URL = await createEmptyDatabase()
  const { password } = new URL(DATABASE_URL)
  const env = { DATABASE_URL, PORT: '0', PUBLIC_URL: 'https://token.example', TRUST_PROXY: '127.0.0.1' }
  const empty = await examine(t, env)
  t.match(empty.wrong, [
    { subject: 'store', level: 'error', text: /^The database postgres:\S+ is empty\. If there should be/ },
  ])
  await register({ DATABASE_URL })
  const { wrong, findings, exit } = await examine(t, env)
  t.strictSame([wrong, exit], [[], 0])
  t.notMatch(JSON.stringify(findings), password)
})

const canNobodyRun = !isRoot || spawnSync(process.execPath, ['--version'], { uid: NOBODY, cwd: '/' }).status === 0

t.test(
  'Doctor: another user, who may not read the store, is told so',
  { skip: !canNobodyRun && 'needs a place that every user can read' },
  async (t) => {
    const { env, file, folder } = temporaryDatabase(t)
    await register(env)
    chmodSync(folder, 0o755)
    if (!isRoot) chmodSync(file, 0)
    const options = { env: { PATH: process.env.PATH, ...env, PORT: '0' }, cwd: '/', encoding: 'utf8' } as const
    const user = isRoot ? { uid: NOBODY, gid: NOBODY } : {}
    const { stdout, status } = spawnSync(process.execPath, [MAIN, 'doctor', '--json'], { ...options, ...user })
    const errors = JSON.parse(stdout).findings.filter(({ level }: Diagnosis) => level === 'error')
    t.equal(status, 1)
    t.match(
      errors.at(-1).text,
      /cannot be read: this process, uid \d+, may not read it: run this as the server's user\.$/,
    )
    t.strictSame(readdirSync(folder), ['store.db'])
    if (!isRoot) return
    chmodSync(folder, 0o700)
    const closed = spawnSync(process.execPath, [MAIN, 'doctor', '--json'], { ...options, ...user })
    const advice = "Run this as the server's user."
    const found = JSON.parse(closed.stdout).findings.filter(({ level }: Diagnosis) => level === 'error')
    t.match(found, [{ text: `This process, uid ${NOBODY}, may not look at what is in ${folder}.`, advice }])
    t.equal(found.length, 1, 'it is said once')
  },
)

t.test('Doctor: on a full disk, and on a read-only one, it looks at everything all the same', MOUNTS, async (t) => {
  const folder = await mountFileSystem(t, 'size=4m,mode=700')
  const data = join(folder, 'data')
  mkdirSync(data, { mode: 0o700 })
  const env = { DATABASE_URL: `sqlite:${join(data, 'store.db')}`, PORT: '0' }
  await register(env)
  spawnSync('dd', ['if=/dev/zero', `of=${join(folder, 'ballast')}`, 'bs=4096'])
  const errors = async () => (await examine(t, env)).findings.filter(({ level }) => level === 'error')
  t.match(await errors(), [{ subject: 'disk', text: /^0 bytes are free on the disk of/ }])
  execFileSync('mount', ['-o', 'remount,ro', folder])
  const readOnly = await errors()
  t.match(readOnly[0], { subject: 'files', text: `The file system of ${data} is read-only.` })
  t.notOk(readOnly.some(({ subject }) => subject === 'store'))
})
