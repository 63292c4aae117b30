import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { type Diagnosis, worst } from '../../src/doctor/finding.ts'
import { freePort } from '../support/free-port.ts'
import { MOUNTS, mountFileSystem } from '../support/mount.ts'
import { command, MAIN, register, startServer } from '../support/spawn.ts'
import { temporaryDatabase } from '../support/temporary-database.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const isRoot = process.getuid?.() === 0
const NOBODY = 65534

/** What `doctor --json` says in a folder, and its exit status. `wrong` is without what tests run on. */
async function examine(t: Test, env: NodeJS.ProcessEnv, cwd = temporaryFolder(t)) {
  const { out, err, status } = await command(t, ['doctor', '--json'], env, '', { cwd })
  const { findings, ...rest } = JSON.parse(out) as { findings: Diagnosis[]; status: string }
  const isWrong = ({ level, subject }: Diagnosis) =>
    (level === 'error' || level === 'warning') && subject !== 'disk' && subject !== 'limits'
  return { ...rest, findings, wrong: findings.filter(isWrong), err, exit: status }
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

t.test('Doctor: a .env that cannot be read is an error, and the rest is examined', async (t) => {
  const cwd = temporaryFolder(t)
  mkdirSync(join(cwd, '.env'))
  const { wrong, exit } = await examine(t, {}, cwd)
  t.match(wrong, [{ level: 'error', text: /What is found besides goes by the environment and the defaults alone\.$/ }])
  t.equal(exit, 1)
})

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
  const cwd = temporaryFolder(t)
  writeFileSync(join(cwd, '.env'), 'PROT=1\n')
  const { findings, wrong, status, exit, err } = await examine(t, env, cwd)
  t.match(wrong, [{ level: 'warning', text: 'There is no setting PROT (in .env). Is PORT meant?' }])
  t.strictSame([wrong.length, exit, err], [1, 0, ''], 'warnings are no errors')
  t.equal(status, worst(findings))
  t.strictSame(stateOf(folder), before)
  for (const said of [
    `The server at http://127.0.0.1:${PORT} is ready.`,
    `The admin listener answers at http://${env.ADMIN_ADDRESS}.`,
  ]) {
    t.ok(findings.some(({ text }) => text === said))
  }
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
  t.strictSame(stateOf(folder), left, 'what a crash has left is left')
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
    /** The errors that the other user is told. */
    const errors = () => {
      const options = { env: { PATH: process.env.PATH, ...env, PORT: '0' }, cwd: '/', encoding: 'utf8' } as const
      const user = isRoot ? { uid: NOBODY, gid: NOBODY } : {}
      const { stdout, status } = spawnSync(process.execPath, [MAIN, 'doctor', '--json'], { ...options, ...user })
      t.equal(status, 1)
      return JSON.parse(stdout).findings.filter(({ level }: Diagnosis) => level === 'error')
    }
    const mayNotRead = /cannot be read: this process, uid \d+, may not read it: run this as the server's user\.$/
    t.match(errors().at(-1).text, mayNotRead)
    t.strictSame(readdirSync(folder), ['store.db'])
    if (!isRoot) return
    chmodSync(folder, 0o700)
    const text = `This process, uid ${NOBODY}, may not look at what is in ${folder}.`
    const found = errors()
    t.match(found, [{ text, advice: "Run this as the server's user." }])
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
