import { once } from 'node:events'
import { existsSync, lstatSync, readdirSync, unlinkSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { type AddressInfo, createServer } from 'node:net'
import { dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import { listenForAdmin } from '../../src/admin/listener.ts'
import { withoutStaleSocket } from '../../src/admin/stale-socket.ts'
import { OperatorError } from '../../src/domain/operator-error.ts'
import { createAdminWorld } from '../support/admin.ts'
import { leaveSocket } from '../support/leave-socket.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const socketIn = (t: Test) => join(temporaryFolder(t), 'admin.sock')

/** Sends a request over a Unix socket. Resolves to the status. */
async function statusOver(socketPath: string, headers = {}): Promise<number | undefined> {
  const asked = request({ socketPath, path: '/admin/v1/nothing', headers, agent: false }).end()
  const [response] = await once(asked, 'response')
  response.resume()
  return response.statusCode
}

t.test('Admin listener: it reports its address, with IPv6 addresses as in a URL', async (t) => {
  for (const [host, shown] of [
    ['localhost', /^http:\/\/127\.0\.0\.1:\d+$/],
    ['::1', /^http:\/\/\[::1\]:\d+$/],
  ] as const) {
    const { app } = await createAdminWorld(t)
    const address = await listenForAdmin(app, { host, port: 0 })
    t.match(address, shown)
    t.equal((await fetch(address)).status, 401)
  }
})

t.test('Admin listener: an address that is taken or not of this machine is an OperatorError', async (t) => {
  const other = createServer().listen(0, '127.0.0.1')
  t.teardown(() => other.close())
  await once(other, 'listening')
  const { port } = other.address() as AddressInfo
  const file = join(temporaryFolder(t), 'file')
  writeFileSync(file, 'mine')
  for (const [place, reason] of [
    [{ host: '127.0.0.1', port }, `127.0.0.1:${port}: listen EADDRINUSE`],
    [{ host: '192.0.2.1', port: 0 }, '192.0.2.1:0: listen EADDRNOTAVAIL'],
    [{ host: 'nowhere.invalid', port: 1 }, 'nowhere.invalid:1: getaddrinfo'],
    [{ socket: '/nowhere/admin.sock' }, 'unix:/nowhere/admin.sock: its folder does not exist.'],
    [{ socket: file }, `unix:${file}: the file exists and is not a socket.`],
  ] as const) {
    const { app } = await createAdminWorld(t)
    const error = await listenForAdmin(app, place).catch((cause) => cause)
    t.type(error, OperatorError)
    t.ok(error.message.startsWith(`Cannot listen on ADMIN_ADDRESS, ${reason}`), error.message)
  }
  t.ok(existsSync(file))
})

t.test('Admin listener: a Unix socket is its owner’s only from the start, and removed at the end', async (t) => {
  const { app, keys, events } = await createAdminWorld(t, { trustProxy: ['127.0.0.1'] })
  const socket = socketIn(t)
  await app.ready()
  const modes: number[] = []
  const { server } = app
  const listen = server.listen.bind(server)
  Object.assign(server, {
    listen(path: string) {
      listen(path)
      modes.push(lstatSync(path).mode & 0o777)
    },
  })
  const before = process.umask()
  t.equal(await listenForAdmin(app, { socket }), `unix:${socket}`)
  t.strictSame(modes, [0o600], 'as soon as the file is there')
  t.equal(process.umask(), before, 'other files are made as before')
  t.equal(await statusOver(socket, { authorization: `Bearer ${keys.admin}` }), 404)
  t.equal(await statusOver(socket, { 'x-forwarded-for': '192.0.2.1' }), 401)
  t.match(events.at(-1), { type: 'operator refused', remoteAddress: 'unix socket' }, 'whatever is forwarded')
  await app.close()
  t.notOk(existsSync(socket))
})

t.test('Admin listener: it replaces the socket file of a killed server, but not that of another one', async (t) => {
  const socket = socketIn(t)
  await leaveSocket(socket)
  const stale = lstatSync(socket)
  const [first, second] = [await createAdminWorld(t), await createAdminWorld(t)]
  await listenForAdmin(first.app, { socket })
  t.equal(await statusOver(socket), 401)
  t.not(lstatSync(socket).mtimeMs, stale.mtimeMs)
  await t.rejects(listenForAdmin(second.app, { socket }), {
    message: `Cannot listen on ADMIN_ADDRESS, unix:${socket}: another server answers there.`,
  })
  t.equal(await statusOver(socket), 401, 'the first goes on')
})

/** Listens where a killed server left a socket. `meanwhile` is called between the two checks. */
async function begin(t: Test, meanwhile: (path: string) => void | Promise<void>) {
  const path = socketIn(t)
  await leaveSocket(path)
  const server = createServer()
  t.teardown(() => server.close())
  const listen = async () => {
    const begun = once(server, 'listening')
    server.listen(path)
    await begun
  }
  const message = await withoutStaleSocket(path, listen, async () => meanwhile(path)).then(
    () => 'it listens',
    ({ message }: Error) => message.replace(path, 'PATH'),
  )
  return { path, message, files: readdirSync(dirname(path)) }
}

t.test('Stale socket: it is removed, and no other file is left', async (t) => {
  t.match(await begin(t, () => {}), { message: 'it listens', files: ['admin.sock'] })
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
