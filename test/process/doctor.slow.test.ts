import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { type Diagnosis, worst } from '../../src/doctor/finding.ts'
import { freePort } from '../support/free-port.ts'
import { command, register, startServer } from '../support/spawn.ts'
import { temporaryDatabase } from '../support/temporary-database.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

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
  t.match(wrong, [{ level: 'error', text: /^Cannot read / }])
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
  writeFileSync(join(cwd, '.env'), 'PROT=1\nPGPASSFILE=/none\n')
  const { findings, wrong, status, exit, err } = await examine(t, env, cwd)
  t.match(wrong, [{ level: 'warning', text: 'There is no setting PROT (in .env). Did you mean PORT?' }])
  t.strictSame([wrong.length, exit, err], [1, 0, ''], 'warnings are no errors')
  t.equal(status, worst(findings))
  t.strictSame(stateOf(folder), before)
  const answers = `The admin listener answers at http://${env.ADMIN_ADDRESS}.`
  for (const said of [`The server at http://127.0.0.1:${PORT} is ready.`, answers]) {
    t.ok(findings.some(({ text }) => text === said))
  }
  t.match(findings.at(-1), { subject: 'ops', text: /^The running server has this version, / })
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
  t.strictSame([down.status, down.exit, down.err], ['error', 1, '{"error":"Something is wrong: see the errors."}\n'])
  t.strictSame(stateOf(folder), left, 'what a crash has left is left')
})
