import { hash } from 'node:crypto'
import { renameSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'
import { RequestRefused } from '../../../src/domain/refusal.ts'
import { digestGenerated } from '../../../src/domain/secret.ts'
import { parseToken } from '../../../src/domain/token.ts'
import { registerImported } from '../imported.ts'
import { on } from '../on.ts'
import { migratedDatabase } from '../temporary-database.ts'
import { createWorld } from '../world.ts'
import type { Trouble } from './changes.ts'
import { type Answered, exchange, type Sent } from './exchange.ts'

/** What the examples of docs/openapi.yaml are about. */
export const EXAMPLES = {
  clientId: 'fGRB0YkSebqKmtSvwMb7Sfa1sR97KK3Z',
  clientSecret: 'EXAMPLEexampleEXAMPLEexampleEXAMPLEexamp',
  token: 'AaH8MKAkc-eG5SXJZtAxxEEXAMPLE_token_EXAMPLE_token_EXAMPLE_token_',
  issuedAt: 1_795_232_407_588,
  suite: 'store',
  suiteSecret: 'EXAMPLEexampleEXAMPLEexampleEXAMPLEsuite',
}

const PUBLIC_LABELS = { region: 'EU West', tier: 'gold' }

/** A world that listens and has all that the examples of the description are about, at the time of the examples. */
export async function createDescribedWorld(
  t: Test,
  { trouble, failureLimit = true }: { trouble?: Trouble | undefined; failureLimit?: boolean } = {},
) {
  const { file, env } = migratedDatabase(t)
  const { app, issuer, store, administration, clock } = await createWorld(t, {
    databaseUrl: trouble === 'store closed' ? 'sqlite::memory:' : env.DATABASE_URL,
    failureLimit,
    requestTimeout: trouble === 'no patience' ? 100 : 10_000,
    tokenQuota: trouble === 'quota exceeded' ? 1 : Infinity,
  })
  const { clientId, clientSecret, issuedAt, suite, suiteSecret } = EXAMPLES
  clock.time = issuedAt
  await administration.registerSuite({ suiteId: suite, name: 'Store API' })
  await on(store).addSecret(suite, { digest: digestGenerated(suiteSecret), createdAt: issuedAt })
  const names = { name: 'Demo application', developerEmail: 'developer@demo.example' }
  await registerImported(store, clientId, clientSecret, names)
  await administration.update(clientId, { labels: PUBLIC_LABELS, publicLabels: Object.keys(PUBLIC_LABELS) })
  await administration.approve(clientId, suite)
  await administration.registerSuite({ suiteId: 'other', name: 'Another API' })
  await administration.registerSuite({ suiteId: 'mcp', name: 'MCP server', url: 'https://mcp.example/mcp' })
  const application = await store.findApplication(clientId)
  const { id, secret } = parseToken(EXAMPLES.token) as { id: Buffer; secret: Buffer }
  const { key: applicationKey, tokenGeneration: generation } = application as NonNullable<typeof application>
  const secretHash = hash('sha256', secret, 'buffer')
  await store.addToken({ id, secretHash, applicationKey, generation, audience: null, issuedAt, revokedAt: null })
  await app.listen({ port: 0, host: '127.0.0.1' })
  const { port } = app.server.address() as AddressInfo
  const ask = (sent: Sent): Promise<Answered> => exchange(port, sent)

  if (trouble === 'too many checks' || trouble === 'too many JWTs') {
    const what = trouble === 'too many checks' ? 'imported secrets' : 'federated tokens'
    const refusal = new RequestRefused(`too many ${what} to check` as const)
    const refuse = () => Promise.reject(refusal)
    Object.assign(issuer, { authenticate: refuse, grant: refuse })
  }
  if (trouble === 'store gone') renameSync(file, `${file}.gone`)
  if (trouble === 'store closed') await store.close()
  return { ask, address: `http://127.0.0.1:${port}` }
}
