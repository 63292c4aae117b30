import { chmodSync, chownSync, mkdirSync, readdirSync, truncateSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { checkPassword } from '../../src/doctor/access.ts'
import { accessFinding, checkAccess, checkFiles } from '../../src/doctor/files.ts'
import type { PostgresLocation } from '../../src/domain/database-location.ts'
import { openStore } from '../../src/store/open.ts'
import { markUnsound } from '../../src/store/sqlite/disk.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const isRoot = process.getuid?.() === 0

/** A store that is open, and what is found of its files. */
async function createFiles(t: Test) {
  const folder = temporaryFolder(t)
  const file = join(folder, 'store.db')
  const store = await openStore({ kind: 'sqlite', file }, { lockTimeout: 0 })
  t.teardown(() => store.close())
  const findings = () => checkFiles({ kind: 'sqlite', file })
  const wrong = async () => (await findings()).filter(({ level }) => level !== 'ok')
  return { folder, file, findings, wrong, close: () => store.close() }
}

t.test('Doctor: files that others may read or change are warnings, with the command that mends it', async (t) => {
  const { folder, file, wrong } = await createFiles(t)
  chmodSync(file, 0o640)
  chmodSync(`${file}-wal`, 0o602)
  chmodSync(folder, 0o757)
  const level = 'warning'
  t.match(await wrong(), [
    { level, text: `Other users may write to ${folder} (mode 757).`, advice: `chmod go-w ${folder}` },
    { level, text: `Other users may read ${file} (mode 640): it contains personal data.`, advice: `chmod go= ${file}` },
    { level, text: `Other users may write to ${file}-wal (mode 602).` },
  ])
  chmodSync(folder, 0o755)
  t.equal((await wrong()).length, 2, 'others may see the names')
})

t.test('Doctor: a folder may be written to by a group that this process is in', async (t) => {
  const { file, folder, wrong } = await createFiles(t)
  chmodSync(folder, 0o2775)
  t.strictSame(await wrong(), [])
  chmodSync(folder, 0o2777)
  t.match(await wrong(), [{ level: 'warning', text: `Other users may write to ${folder} (mode 2777).` }])
  chmodSync(folder, 0o775)
  chmodSync(file, 0o660)
  t.match(await wrong(), [{ level: 'warning', text: ` may write to ${file} (mode 660).` }], 'but not its files')
})

t.test('Doctor: another owner or group is a warning', { skip: !isRoot && 'needs root' }, async (t) => {
  const { file, folder, wrong } = await createFiles(t)
  chownSync(folder, 0, 65534)
  chmodSync(folder, 0o2775)
  t.match(await wrong(), [{ level: 'warning', text: `Other users may write to ${folder} (mode 2775).` }])
  chownSync(folder, 65534, 65534)
  const first = "Make the server's user its owner, then: "
  t.match(await wrong(), [{ advice: `${first}chmod go-w ${folder}` }, {}, {}, {}], 'which a server may depend on')
  chownSync(folder, 0, 65534)
  chmodSync(folder, 0o755)
  chownSync(file, 65534, 65534)
  t.match(await wrong(), [{ level: 'warning', text: `${file} belongs to uid 65534, but ${folder} to uid 0.` }])
})

t.test('Doctor: what this process may not write to is an error, with whose it is', async (t) => {
  const own = process.getuid?.() as number
  const path = join(temporaryFolder(t), 'gone')
  const gone = { path, size: 0, gid: own, mode: 0o600, isFolder: false }
  const level = 'error'
  t.match(await checkAccess({ ...gone, uid: own }), [{ level, text: `The owner of ${path} may not write to it.` }])
  const advice = `Run this as uid ${own + 1}, the owner.`
  t.match(await checkAccess({ ...gone, uid: own + 1 }), [{ level, text: `belongs to uid ${own + 1}, and`, advice }])
  t.match(accessFinding({ path, uid: own }, 'EROFS'), { level, text: `The file system of ${path} is read-only.` })
})

t.test('Doctor: the files of a store are said, and a log that is large, marked or left over', async (t) => {
  const { file, wrong, findings, close } = await createFiles(t)
  const level = 'ok'
  t.match(await findings(), [
    { level, text: `The database is ${file}, ` },
    { level, text: /^The write-ahead log is / },
  ])
  await close()
  const log = `${file}-wal`
  writeFileSync(log, 'x', { mode: 0o600 })
  t.match(await wrong(), [{ level: 'note', text: 'The write-ahead log is 1 bytes. The other findings' }])
  writeFileSync(`${file}-shm`, '', { mode: 0o600 })
  t.strictSame(await wrong(), [])
  truncateSync(log, 64 * 1024 ** 2)
  t.match(await wrong(), [{ level: 'warning', text: 'The write-ahead log is 64 MiB.' }])
  truncateSync(log, 1024 ** 3)
  t.match(await wrong(), [{ level: 'error', text: 'The write-ahead log is 1.0 GiB: changes are refused.' }])
  markUnsound(file)
  t.match(await wrong(), [{ level: 'error', text: `An fsync of ${log} has failed` }])
})

t.test('Doctor: where there is no database, or only its log, the files are not what is wrong', async (t) => {
  const folder = temporaryFolder(t)
  const file = join(folder, 'deeper', 'store.db')
  const location = { kind: 'sqlite', file } as const
  t.match(await checkFiles(location), [{ level: 'note', text: 'The folder of the database does not exist yet.' }])
  t.strictSame(readdirSync(folder), [])
  mkdirSync(join(folder, 'deeper'), { mode: 0o700 })
  t.strictSame(await checkFiles(location), [])
  writeFileSync(`${file}-wal`, 'x', { mode: 0o600 })
  t.match(await checkFiles(location), [{ level: 'note' }])
  unlinkSync(`${file}-wal`)
  writeFileSync(join(folder, 'file'), '')
  const odd = { kind: 'sqlite', file: join(folder, 'file', 'store.db') } as const
  await t.rejects(checkFiles(odd), { code: 'ENOTDIR' })
})

t.test('Doctor: the file with the password is looked at, and what is in it is not said', async (t) => {
  const file = join(temporaryFolder(t), 'password')
  const location = { kind: 'postgres', hosts: [], database: 'd', user: 'u', tls: undefined } as const
  const look = (passwordFile?: string, password?: string) =>
    checkPassword({ ...location, passwordFile, password } satisfies PostgresLocation)
  t.match(await look(), [{ level: 'ok', text: /PGPASSFILE, if there is one/ }])
  t.match(await look(undefined, 'hunter2'), [{ level: 'ok', text: /comes from DATABASE_URL or PGPASSWORD\.$/ }])
  t.match(await look(file), [{ level: 'error', text: `DATABASE_PASSWORD_FILE, ${file}, cannot be read: ENOENT.` }])
  writeFileSync(file, '\n', { mode: 0o600 })
  t.match(await look(file), [{ level: 'error', text: /is empty\.$/ }])
  writeFileSync(file, 'hunter2\n')
  for (const [mode, level] of Object.entries({ 600: 'ok', 644: 'note', 640: 'note', 620: 'warning' })) {
    chmodSync(file, mode)
    const findings = await look(file)
    t.match(findings, [{ level }])
    t.notMatch(JSON.stringify(findings), 'hunter2')
  }
})
