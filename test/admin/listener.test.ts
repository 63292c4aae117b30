import { once } from 'node:events'
import { existsSync, lstatSync, readdirSync, unlinkSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { createServer } from 'node:net'
import { dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import { listenForAdmin, withoutStaleSocket } from '../../src/admin/listener.ts'
import { OperatorError } from '../../src/domain/operator-error.ts'
import { createAdminWorld } from '../support/admin.ts'
import { leaveSocket } from '../support/leave-socket.ts'
import { listenHere } from '../support/listen-here.ts'
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
    const address = await listenForAdmin(app.server, { host, port: 0 })
    t.match(address, shown)
    t.equal((await fetch(address)).status, 401)
  }
})

t.test('Admin listener: an address that is taken or not of this machine is an OperatorError', async (t) => {
  const { port } = await listenHere(t, createServer())
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
    const error = await listenForAdmin(app.server, place).catch((cause) => cause)
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
  t.equal(await listenForAdmin(app.server, { socket }), `unix:${socket}`)
  t.strictSame(modes, [0o600], 'from the start')
  t.equal(process.umask(), before, 'the umask is restored')
  t.equal(await statusOver(socket, { authorization: `Bearer ${keys.admin}` }), 404)
  t.equal(await statusOver(socket, { 'x-forwarded-for': '192.0.2.1' }), 401)
  t.match(events.at(-1), { type: 'operator refused', remoteAddress: 'unix socket' }, 'X-Forwarded-For is ignored')
  await app.close()
  t.notOk(existsSync(socket))
})

t.test('Admin listener: it replaces the socket file of a killed server, but not that of another one', async (t) => {
  const socket = socketIn(t)
  await leaveSocket(socket)
  const stale = lstatSync(socket)
  const [first, second] = [await createAdminWorld(t), await createAdminWorld(t)]
  await listenForAdmin(first.app.server, { socket })
  t.equal(await statusOver(socket), 401)
  t.not(lstatSync(socket).mtimeMs, stale.mtimeMs)
  await t.rejects(listenForAdmin(second.app.server, { socket }), {
    message: `Cannot listen on ADMIN_ADDRESS, unix:${socket}: another server answers there.`,
  })
  t.equal(await statusOver(socket), 401, 'the first continues')
})

t.test('Stale socket: it is removed, unless another server or process was faster', async (t) => {
  const cases: Record<string, [meanwhile: (path: string) => unknown, message: RegExp, files: string[]]> = {
    nothing: [() => {}, /^it listens$/, ['admin.sock']],
    'a server starts': [
      async (path) => {
        unlinkSync(path)
        const other = createServer().listen(path)
        t.teardown(() => other.close())
        await once(other, 'listening')
      },
      /^Cannot listen on ADMIN_ADDRESS, unix:PATH: another server answers there\.$/,
      ['admin.sock'],
    ],
    'a file takes its place at which nobody answers yet': [
      async (path) => {
        await leaveSocket(`${path}.other`)
        unlinkSync(path)
        await leaveSocket(path)
      },
      /^Cannot listen on ADMIN_ADDRESS, unix:PATH: another server has just started there\.$/,
      ['admin.sock', 'admin.sock.other'],
    ],
    'another process removes it': [unlinkSync, /^Cannot listen on ADMIN_ADDRESS, unix:PATH: connect ENOENT /, []],
  }
  for (const [what, [meanwhile, expected, files]] of Object.entries(cases)) {
    const path = socketIn(t)
    await leaveSocket(path)
    const server = createServer()
    t.teardown(() => server.close())
    let left: number | undefined
    const changed = async () => {
      await meanwhile(path)
      left = lstatSync(path, { throwIfNoEntry: false })?.mtimeMs
    }
    const listen = async () => void (await once(server.listen(path), 'listening'))
    const message = await withoutStaleSocket(path, listen, changed).then(
      () => 'it listens',
      ({ message }: Error) => message.replace(path, 'PATH'),
    )
    t.match(message, expected, what)
    t.strictSame(readdirSync(dirname(path)), files, what)
    if (message !== 'it listens') t.equal(lstatSync(path, { throwIfNoEntry: false })?.mtimeMs, left, what)
  }
})
