import { ACCESS_TOKEN_PATH } from '../http/access-token.ts'
import { createAdministration } from '../issuer/administration.ts'
import { createLog } from '../log.ts'
import { openStore } from '../store/open.ts'
import { startServer } from './server.ts'
import type { Terminal } from './terminal.ts'

const PORT = 8080

/** `demo`: a server to try things on. Its store is in memory and gone with it; it listens on this machine only. */
export async function demo(terminal: Terminal): Promise<void> {
  const log = await createLog('info', { isTTY: terminal.stdout.isTTY === true })
  const store = await openStore('sqlite::memory:', { busyTimeout: 0 })
  const { clientId, clientSecret } = await createAdministration({ store, now: Date.now }).register({
    name: 'Demo application',
    developerEmail: 'developer@demo.example',
  })

  const listen = (port: number) => startServer(store, log, { HOST: '127.0.0.1', PORT: port, TRUST_PROXY: false })
  const address = await listen(PORT).catch(() => listen(0))
  terminal.stdout.write(`
A demo server listens on ${address}. Everything in it is gone when it stops (Ctrl-C).
Get an access token from it:

  curl ${address}${ACCESS_TOKEN_PATH} \\
    -d 'grant_type=client_credentials&client_id=${clientId}&client_secret=${clientSecret}'

`)
}
