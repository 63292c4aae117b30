import { join } from 'node:path'
import t, { type Test } from 'tap'
import { listenForAdmin } from '../../src/admin/listener.ts'
import { readConfig } from '../../src/config.ts'
import { examineAdminListener } from '../../src/doctor/listeners.ts'
import { createAdminWorld } from '../support/admin.ts'
import { freePort } from '../support/free-port.ts'
import { leaveSocket } from '../support/leave-socket.ts'
import { startRecorder } from '../support/recorder.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

t.test('Doctor: a running admin listener is found at an address and at a socket', async (t) => {
  const socket = join(temporaryFolder(t), 'admin.sock')
  for (const [given, address] of [
    [`127.0.0.1:${await freePort()}`],
    [`0.0.0.0:${await freePort()}`],
    [`unix:${socket}`, socket],
  ] as const) {
    const place = await listen(t, given)
    const at = address ?? given.replace('0.0.0.0', 'localhost').replace(/^/, 'http://')
    t.strictSame(await examineAdminListener(place), [{ level: 'ok', text: `The admin listener answers at ${at}.` }])
  }
})

t.test('Doctor: a missing admin listener is an error, at an address and at a socket', async (t) => {
  const socket = join(temporaryFolder(t), 'admin.sock')
  const port = await freePort()
  const advice = 'If ADMIN_ADDRESS was set after the server had started, restart the server.'
  const missing = (address: string, code: string) => [
    { level: 'error', text: `The admin listener does not answer at ${address} (${code}).`, advice },
  ]
  t.match(await examineAdminListener({ host: '127.0.0.1', port }), missing(`http://127.0.0.1:${port}`, 'ECONNREFUSED'))
  t.match(await examineAdminListener({ socket }), missing(socket, 'ENOENT'))
  await leaveSocket(socket)
  t.match(await examineAdminListener({ socket }), missing(socket, 'ECONNREFUSED'))
  t.match(await examineAdminListener({ host: '127.0.0.1', port: 0 }), [{ level: 'note' }])
})

t.test('Doctor: another program at ADMIN_ADDRESS, or one that does not answer, is an error', async (t) => {
  const other = await startRecorder(t, (response) => response.end('Hello'))
  t.match(await examineAdminListener(placeOf(other.address)), [
    { level: 'error', text: `What answers at http://${other.address} is not this server's admin listener.` },
  ])
  const silent = await startRecorder(t, () => {})
  t.match(await examineAdminListener(placeOf(silent.address)), [
    { level: 'error', text: `What listens at http://${silent.address} does not answer within 3 s.` },
  ])
})

function placeOf(address: string) {
  const { ADMIN_ADDRESS: place } = readConfig({ ADMIN_ADDRESS: address })
  if (!place) throw new Error(`no place: ${address}`)
  return place
}

/** Starts an admin listener at this address. */
async function listen(t: Test, address: string) {
  const place = placeOf(address)
  const { app } = await createAdminWorld(t)
  await listenForAdmin(app, place)
  return place
}
