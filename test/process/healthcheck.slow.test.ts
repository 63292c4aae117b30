import { unlinkSync } from 'node:fs'
import t from 'tap'
import { command, startServer } from '../support/spawn.ts'
import { temporaryDatabase } from '../support/temporary-database.ts'

t.test('Healthcheck: it fails when the server has lost its store', async (t) => {
  const { env, file } = temporaryDatabase(t)
  const server = await startServer(t, { ...env, HOST: '0.0.0.0' })
  const PORT = new URL(server.address).port
  t.match(await command(t, ['healthcheck'], { HOST: '0.0.0.0', PORT }), { status: 0 })
  const { out } = await command(t, ['healthcheck', '--json'], { PORT })
  t.strictSame(JSON.parse(out), { address: `http://127.0.0.1:${PORT}`, status: 'ready' })
  unlinkSync(file)
  t.match(await command(t, ['healthcheck'], { PORT }), {
    status: 1,
    err: `The server at http://127.0.0.1:${PORT} is not ready: 503.\n`,
  })
})

t.test('Healthcheck: of a server on a port of its own choice it cannot be asked', async (t) => {
  const { status, err } = await command(t, ['healthcheck'], { PORT: '0' })
  t.strictSame(
    { status, err },
    { status: 1, err: 'PORT is 0, so nobody knows which port the server has: give it one.\n' },
  )
})

t.test('Healthcheck: it fails when no server answers, and says which address it asked', async (t) => {
  const addresses = { '127.0.0.1': '127.0.0.1', '0.0.0.0': 'localhost', '::1': '[::1]' }
  for (const [HOST, address] of Object.entries(addresses)) {
    t.match(await command(t, ['healthcheck'], { HOST, PORT: '1' }), {
      status: 1,
      err: `The server at http://${address}:1 is not ready: no answer.\n`,
    })
  }
})
