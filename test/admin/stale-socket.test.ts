import { once } from 'node:events'
import { existsSync, lstatSync, readdirSync, unlinkSync } from 'node:fs'
import { createServer } from 'node:net'
import { dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import { withoutStaleSocket } from '../../src/admin/stale-socket.ts'
import { leaveSocket } from '../support/leave-socket.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

/** Listens where a killed server left a socket. `meanwhile` is called between the two checks. */
async function begin(t: Test, meanwhile: (path: string) => void | Promise<void>) {
  const path = join(temporaryFolder(t), 'admin.sock')
  await leaveSocket(path)
  const server = createServer()
  t.teardown(() => server.close())
  const listen = async () => {
    const begun = once(server, 'listening')
    server.listen(path)
    await begun
  }
  const beginning = withoutStaleSocket(path, listen, async () => meanwhile(path))
  const message = await beginning.then(
    () => 'it listens',
    ({ message }: Error) => message.replace(path, 'PATH'),
  )
  return { path, message, files: readdirSync(dirname(path)) }
}

t.test('Stale socket: it is removed, and no other file is left', async (t) => {
  const { message, files } = await begin(t, () => {})
  t.equal(message, 'it listens')
  t.strictSame(files, ['admin.sock'])
})

t.test('Stale socket: a server that starts there in the meantime keeps its socket', async (t) => {
  const other = createServer()
  t.teardown(() => other.close())
  const { message, path } = await begin(t, async (path) => {
    unlinkSync(path)
    other.listen(path)
    await once(other, 'listening')
  })
  t.equal(message, 'Cannot listen on ADMIN_ADDRESS, unix:PATH: another server answers there.')
  t.ok(existsSync(path))
})

t.test('Stale socket: another file in its place is not removed, even if nobody answers there yet', async (t) => {
  let other = 0
  const { message, path, files } = await begin(t, async (path) => {
    await leaveSocket(`${path}.other`)
    unlinkSync(path)
    await leaveSocket(path)
    other = lstatSync(path).mtimeMs
  })
  t.equal(message, 'Cannot listen on ADMIN_ADDRESS, unix:PATH: another server has just started there.')
  t.equal(lstatSync(path).mtimeMs, other)
  t.strictSame(files, ['admin.sock', 'admin.sock.other'])
})

t.test('Stale socket: the server does not start if another process removes it', async (t) => {
  const { message } = await begin(t, unlinkSync)
  t.match(message, /^Cannot listen on ADMIN_ADDRESS, unix:PATH: connect ENOENT /)
})
