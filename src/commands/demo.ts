import { once } from 'node:events'
import { createServer } from 'node:net'
import { createAdministration } from '../administration/administration.ts'
import { ACCESS_TOKEN_PATH } from '../http/access-token.ts'
import { VERIFY_PATH } from '../http/verify.ts'
import { startServer } from '../server/run.ts'
import { openStore } from '../store/open.ts'
import { createLog } from '../telemetry/log.ts'
import type { Terminal } from './shared/terminal.ts'

const PORT = 8080

/** `demo`: a server to try things on. Its store is in memory and gone with it; it listens on this machine only. */
export async function demo(terminal: Terminal): Promise<void> {
  const log = await createLog('info', { isTTY: terminal.stdout.isTTY === true })
  const store = await openStore('sqlite::memory:', { patience: 0 })
  const { register, registerSuite } = createAdministration({ store, now: Date.now })
  await registerSuite({ suiteId: 'store', name: 'Store API' })
  const { clientId, clientSecret } = await register({
    name: 'Demo application',
    developerEmail: 'developer@demo.example',
  })

  const port = await firstFree(PORT)
  const address = `http://127.0.0.1:${port}`
  await startServer(store, log, { HOST: '127.0.0.1', PORT: port, TRUST_PROXY: false, PUBLIC_URL: address })
  terminal.stdout.write(`
A demo server listens on ${address}. Everything in it is gone when it stops (Ctrl-C).

1. An application gets an access token:

  curl ${address}${ACCESS_TOKEN_PATH} \\
    -d 'grant_type=client_credentials&client_id=${clientId}&client_secret=${clientSecret}'

2. A gateway asks whether a request with a token may pass to the store suite: it may.

  TOKEN=$(curl -s ${address}${ACCESS_TOKEN_PATH} \\
    -d 'grant_type=client_credentials&client_id=${clientId}&client_secret=${clientSecret}' |
    sed 's/.*"access_token":"\\([^"]*\\)".*/\\1/')
  curl -i ${address}${VERIFY_PATH}/store -H "Authorization: Bearer $TOKEN"

3. And one without a token, or with another: it may not.

  curl -i ${address}${VERIFY_PATH}/store
  curl -i ${address}${VERIFY_PATH}/store -H 'Authorization: Bearer nonsense'

`)
}

/** The first port from this one on that nobody listens on. */
async function firstFree(port: number): Promise<number> {
  const probe = createServer().listen(port, '127.0.0.1')
  const free = await once(probe, 'listening').then(
    () => true,
    () => false,
  )
  probe.close()
  return free ? port : firstFree(port + 1)
}
