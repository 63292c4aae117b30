import { once } from 'node:events'
import { createServer } from 'node:net'
import { Command } from 'commander'
import { commandAuthor } from './shared/administer.ts'
import type { Terminal } from './shared/terminal.ts'

const HOST = '127.0.0.1'
const FIRST_PORT = 8080

/** `demo`: a server to try things on. Its store is in memory and gone with it; it listens on this machine only. */
export function demoCommand(terminal: Terminal): Command {
  return new Command('demo')
    .description('run a throw-away server with one application, on this machine only')
    .action(() => demo(terminal))
}

async function demo(terminal: Terminal): Promise<void> {
  const { createAdministration } = await import('../administration/administration.ts')
  const { ACCESS_TOKEN_PATH } = await import('../http/access-token.ts')
  const { VERIFY_PATH } = await import('../http/wire/target.ts')
  const { run } = await import('../server/run.ts')
  const { createTelemetry } = await import('../server/telemetry.ts')
  const { openStore } = await import('../store/open.ts')

  const telemetry = await createTelemetry('info', { isTTY: terminal.stdout.isTTY === true })
  const database = { kind: 'sqlite', file: ':memory:' } as const
  const store = await openStore(database, { lockTimeout: 0 })
  const { observe } = telemetry
  const { applications, suites } = createAdministration({ store, now: Date.now, observe, author: commandAuthor() })
  await suites.register({ suiteId: 'store', name: 'Store API' })
  const { clientId, clientSecret } = await applications.register({
    name: 'Demo application',
    developerEmail: 'developer@demo.example',
  })

  const port = await firstFree(FIRST_PORT)
  const address = `http://${HOST}:${port}`
  await run(async () => store, telemetry, {
    HOST,
    PORT: port,
    TRUST_PROXY: false,
    CONNECTION_LIMIT: Infinity,
    FAILURE_LIMIT: true,
    TOKEN_QUOTA: Infinity,
    PUBLIC_URL: address,
    DOCS_URL: undefined,
    OPS_ADDRESS: undefined,
    ADMIN_ADDRESS: undefined,
    ADMIN_URL: undefined,
    DATABASE_URL: database,
  })
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

3. And one without a token, or with an invalid one: it may not.

  curl -i ${address}${VERIFY_PATH}/store
  curl -i ${address}${VERIFY_PATH}/store -H 'Authorization: Bearer nonsense'

`)
}

/** The first port from this one on that nobody listens on. */
async function firstFree(port: number): Promise<number> {
  const probe = createServer().listen(port, HOST)
  const isFree = await once(probe, 'listening').then(
    () => true,
    () => false,
  )
  probe.close()
  return isFree ? port : firstFree(port + 1)
}
