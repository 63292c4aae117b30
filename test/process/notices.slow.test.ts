import t from 'tap'
import { noticeFiles, startReceiver } from '../support/notice.ts'
import { startServing } from '../support/spawn.ts'
import { until } from '../support/until.ts'

t.test('Notices: a server posts what it sees twice, and its metrics say that none waits', async (t) => {
  const { url, received } = await startReceiver(t)
  const settings = { ...noticeFiles(t, url), OPS_ADDRESS: '127.0.0.1:0' }
  const { server, credentials } = await startServing(t, settings)
  for (let times = 0; times < 3; times++) await server.issue({ ...credentials, client_secret: 'wrong' })
  await until(() => received.length > 0, 120_000)
  await until(() => server.logged('notice delivered').length > 0)
  const metrics = await (await fetch(`${server.logged('ready')[0].ops}/metrics`)).text()
  t.match(metrics, /^token_server_oldest_notice_seconds 0$/m)
  t.match(await server.stop(), { status: 0 })
})
