import { spawn } from 'node:child_process'
import { copyFileSync, existsSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import Database from 'better-sqlite3'
import t, { type Test } from 'tap'
import { isUnsound } from '../../src/store/sqlite/files.ts'
import { register } from '../support/register.ts'
import { command, MAIN, startServer } from '../support/spawn.ts'
import { temporaryDatabase } from '../support/temporary-database.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

/** The code that makes one fsync fail in any process that has it, when a file says so. */
const preload = (flag: string) => `
  import fs from 'node:fs'
  import { syncBuiltinESMExports } from 'node:module'
  const { fdatasync } = fs
  fs.fdatasync = (file, done) => {
    try {
      fs.unlinkSync(${JSON.stringify(flag)})
    } catch {
      return fdatasync(file, done)
    }
    done(new Error('EIO'))
  }
  syncBuiltinESMExports()`

/** A database on a disk that fails when it is told to, with an application that may ask for tokens. */
async function createFaultyDisk(t: Test) {
  const { env: database, file } = temporaryDatabase(t)
  const flag = join(temporaryFolder(t), 'fail')
  const script = `data:text/javascript,${encodeURIComponent(preload(flag))}`
  const env = { ...database, NODE_OPTIONS: `${process.env.NODE_OPTIONS ?? ''} --import=${script}` }
  const credentials = await register(database)
  const fail = () => writeFileSync(flag, '')
  const walSize = () => statSync(`${file}-wal`).size
  /** How many tokens the file of the database has, without its log. */
  const inTheFile = () => {
    const alone = join(temporaryFolder(t), 'alone.db')
    copyFileSync(file, alone)
    const db = new Database(alone)
    t.teardown(() => db.close())
    return db.prepare('SELECT count(*) FROM tokens').pluck().get()
  }
  return { env, file, credentials, fail, walSize, inTheFile }
}

const UNSOUND = /^The database .* cannot be opened: an fsync has failed, .* End every process that has it .*\n$/

/** A server that has issued 20 tokens when an fsync fails. */
async function startFailing(t: Test, { workers = 1 } = {}) {
  const disk = await createFaultyDisk(t)
  const server = await startServer(t, { ...disk.env, WORKERS: String(workers) })
  const issue = async () => (await server.token(disk.credentials)).status
  for (let n = 0; n < 20; n++) t.equal(await issue(), 200)
  disk.fail()
  t.equal(await issue(), 503)
  t.ok(isUnsound(disk.file))
  return { ...disk, server, issue }
}

async function startsWithAll(
  t: Test,
  { env, file, credentials, inTheFile, walSize }: Awaited<ReturnType<typeof startFailing>>,
) {
  const server = await startServer(t, env)
  t.equal(walSize(), 0, 'before it says that it is ready the log is in the database')
  t.notOk(isUnsound(file))
  // The one whose fsync failed may be there or not: nobody was told.
  t.ok((inTheFile() as number) >= 20)
  t.equal((await server.token(credentials)).status, 200)
}

t.test('Failed fsync: the server refuses, and so does every command, until all of them have ended', async (t) => {
  const world = await startFailing(t)
  const { server, issue, env, file } = world
  t.equal(await issue(), 503)
  t.equal((await fetch(`${server.address}/health/ready`)).status, 503)
  t.equal((await fetch(`${server.address}/health/live`)).status, 200)
  t.equal(
    (await fetch(`${server.address}/v1/oauth/verify`, { headers: { authorization: `Bearer ${'a'.repeat(64)}` } }))
      .status,
    503,
  )
  for (const args of [['applications', 'list'], ['migrate']])
    t.match(await command(t, args, env), { status: 1, err: UNSOUND })
  t.match(await command(t, ['serve'], { ...env, PORT: '0' }), { status: 1, err: UNSOUND })

  server.child.kill('SIGTERM')
  t.match(await server.exited, { status: 0 })
  t.ok(existsSync(`${file}-wal`), 'it makes no checkpoint when it ends')
  t.ok(isUnsound(file))
  await startsWithAll(t, world)
})

t.test('Failed fsync: after kill -9 the next start brings the log to the disk', async (t) => {
  const world = await startFailing(t)
  world.server.child.kill('SIGKILL')
  await world.server.exited
  await startsWithAll(t, world)
})

t.test('Failed fsync: after kill -9 a command brings the log to the disk', async (t) => {
  const { server, env, file, inTheFile } = await startFailing(t)
  server.child.kill('SIGKILL')
  await server.exited
  t.equal((await command(t, ['applications', 'list'], env)).status, 0)
  t.notOk(existsSync(`${file}-wal`))
  t.ok((inTheFile() as number) >= 20)
})

t.test('Failed fsync: of several workers all refuse, and a new one does not start beside them', async (t) => {
  const world = await startFailing(t, { workers: 2 })
  const { server, issue, file } = world
  for (let n = 0; n < 4; n++) t.equal(await issue(), 503)
  server.child.kill('SIGHUP')
  for (let n = 0; n < 20; n++) t.equal(await issue(), 503)
  t.ok(isUnsound(file))
  server.child.kill('SIGTERM')
  await server.exited
  t.ok(isUnsound(file))
  await startsWithAll(t, world)
})

t.test("Failed fsync: a command's own failed fsync ends it at once, without a checkpoint", async (t) => {
  const { env, file, fail, credentials } = await createFaultyDisk(t)
  fail()
  const suspend = ['applications', 'suspend', credentials.client_id]
  const { status, err } = await command(t, suspend, env)
  t.equal(status, 1)
  t.match(err, /^fsync failed; /)
  t.ok(isUnsound(file))
  t.equal((await command(t, suspend, env)).status, 0)
  t.notOk(existsSync(`${file}-wal`))
})

t.test('Failed fsync: a command that only read, and whose fsync failed, makes no checkpoint either', async (t) => {
  const { env, file, fail, credentials } = await createFaultyDisk(t)
  const server = await startServer(t, env)
  t.equal((await server.token(credentials)).status, 200)
  server.child.kill('SIGKILL')
  await server.exited
  fail()
  const { status, out } = await command(t, ['applications', 'list'], env)
  t.equal(status, 0)
  t.match(out, credentials.client_id)
  t.ok(isUnsound(file), 'the mark is still there, and so is the log')
})

t.test('Failed fsync: where the disk does not take the log, it is said, and the mark stays', async (t) => {
  const { env, file, credentials } = await createFaultyDisk(t)
  const server = await startServer(t, env)
  for (let n = 0; n < 20; n++) t.equal((await server.token(credentials)).status, 200)
  server.child.kill('SIGKILL')
  await server.exited
  // A limit on the size of files is a disk that is full: neither the log nor the database can be written to its end.
  const limited = ['-c', 'ulimit -S -f 16; exec "$0" "$@"', process.execPath, MAIN, 'serve']
  const child = spawn('bash', limited, { env: { ...process.env, ...env, NODE_OPTIONS: '', PORT: '0' }, stdio: 'pipe' })
  const [err] = await Promise.all([text(child.stderr), text(child.stdout)])
  t.match(
    err,
    /^The database .* its log cannot be brought to the disk: EFBIG: file too large, write\. Then start again\. Until/,
  )
  t.ok(isUnsound(file))
  t.match(await command(t, ['applications', 'list'], env), { status: 0 })
})
