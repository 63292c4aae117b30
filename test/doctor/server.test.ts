import t from 'tap'
import { examineOps, examineServer } from '../../src/doctor/listeners.ts'
import { VERSION } from '../../src/version.ts'
import { freePort } from '../support/free-port.ts'
import { startRecorder } from '../support/recorder.ts'

t.test('Doctor: a server that is ready is all right, and every other answer is an error that says which', async (t) => {
  let status = 200
  const { address } = await startRecorder(t, (response) => {
    response.statusCode = status
    response.end()
  })
  const PORT = Number(address.split(':')[1])
  const examine = () => examineServer({ HOST: '127.0.0.1', PORT })
  t.match(await examine(), [{ level: 'ok', text: `The server at http://127.0.0.1:${PORT} is ready.` }])
  status = 503
  t.match(await examine(), [{ level: 'error', text: `The server at http://127.0.0.1:${PORT} is not ready.` }])
  status = 404
  t.match(await examine(), [{ level: 'error', text: /is not this server: 404\.$/ }])
})

t.test(
  'Doctor: where no server answers, the address is said; of a port that the server picks nothing is known',
  async (t) => {
    const PORT = await freePort()
    const text = `No server answers at http://localhost:${PORT} (ECONNREFUSED).`
    t.match(await examineServer({ HOST: '0.0.0.0', PORT }), [{ level: 'error', text }])
    t.match(await examineServer({ HOST: '::1', PORT: 0 }), [{ level: 'note', text: /^PORT is 0/ }])
  },
)

t.test('Doctor: what listens and does not answer is not said to be missing', async (t) => {
  const { address } = await startRecorder(t, () => {})
  const port = Number(address.split(':')[1])
  const [server, ops] = await Promise.all([
    examineServer({ HOST: '127.0.0.1', PORT: port }),
    examineOps({ host: '127.0.0.1', port }),
  ])
  const text = `What listens at http://127.0.0.1:${port} does not answer within 3 s.`
  t.match(server, [{ level: 'error', text }])
  t.match(ops, [{ level: 'error', text: text.replace(`${port}`, `${port}/metrics`) }])
})

t.test('Doctor: the version of the server that runs is compared, where its metrics tell it', async (t) => {
  let body = ''
  const { address } = await startRecorder(t, (response) => response.end(body))
  const port = Number(address.split(':')[1])
  const examine = () => examineOps({ host: '127.0.0.1', port })
  t.match(await examine(), [
    { level: 'error', text: `What answers at http://127.0.0.1:${port}/metrics is not this server.` },
  ])
  body = `# TYPE token_server_build_info gauge\ntoken_server_build_info{node="24.21.0",version="${VERSION}"} 1\n`
  t.match(await examine(), [{ level: 'ok' }])
  body = body.replace(VERSION, '99.0.0')
  t.match(await examine(), [{ level: 'warning', text: `The server that runs is 99.0.0, and this program ${VERSION}.` }])
  t.match(await examineOps({ host: '127.0.0.1', port: await freePort() }), [{ level: 'error', text: /ECONNREFUSED/ }])
  t.match(await examineOps({ host: '127.0.0.1', port: 0 }), [{ level: 'note' }])
})
