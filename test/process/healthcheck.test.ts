import { unlinkSync } from 'node:fs'
import t from 'tap'
import { command, startServer } from '../support/spawn.ts'
import { temporaryDatabase } from '../support/temporary-database.ts'

t.test('Healthcheck: it fails when the server has lost its store', async (t) => {
  const { env, file } = temporaryDatabase(t)
  const server = await startServer(t, { ...env, HOST: '0.0.0.0' })
  const PORT = new URL(server.address).port
  t.match(await command(t, ['healthcheck'], { HOST: '0.0.0.0', PORT }), { status: 0 })
  unlinkSync(file)
  t.match(await command(t, ['healthcheck'], { PORT }), { status: 1, err: 'The server is not ready: 503.\n' })
})

t.test('Healthcheck: it fails when no server answers', async (t) => {
  for (const HOST of ['127.0.0.1', '0.0.0.0', '::1']) {
    t.match(await command(t, ['healthcheck'], { HOST, PORT: '1' }), {
      status: 1,
      err: 'The server is not ready: no answer.\n',
    })
  }
})
