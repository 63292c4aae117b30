import { freePort } from '../../../../test/support/free-port.ts'
import type { Bench } from '../../bench.ts'
import { peerClient } from '../../servers/peer.ts'
import type { Postgres } from '../../world/postgres.ts'
import { isInstalled, openPeer, type Peer, runCommand } from './peer.ts'

/** Another program has this name too. */
export const hasHydra = () => isInstalled('hydra', ['version'], /^Version:/m)

/** Ory Hydra. Without max_idle_conns it opens a connection for nearly every statement. */
export async function hydra(bench: Bench, postgres: Postgres, count: number): Promise<Peer> {
  bench.step('starts Hydra')
  const port = await freePort()
  const env = {
    DSN: `${await postgres.createDatabase()}?sslmode=disable&max_conns=20&max_idle_conns=20`,
    SECRETS_SYSTEM: peerClient.client_secret,
    URLS_SELF_ISSUER: 'http://localhost',
    ...{ SERVE_PUBLIC_HOST: '127.0.0.1', SERVE_ADMIN_HOST: '127.0.0.1', SERVE_ADMIN_PORT: String(port) },
  }
  runCommand('hydra', ['migrate', 'sql', '-e', '--yes'], env)
  const serve = 'SERVE_PUBLIC_PORT=$PORT exec hydra serve all --dev --sqa-opt-out'
  const server = await bench.foreign(['sh', '-c', serve], { env, path: '/health/ready' })
  const client = {
    ...peerClient,
    grant_types: ['client_credentials'],
    token_endpoint_auth_method: 'client_secret_post',
  }
  const { ok, status } = await fetch(`http://127.0.0.1:${port}/admin/clients`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(client),
  })
  if (!ok) throw new Error(`Hydra answered ${status} to a new client`)
  const introspection = { path: '/admin/oauth2/introspect', caller: peerClient, port }
  return openPeer({ name: 'Hydra', server, application: peerClient, tokenPath: '/oauth2/token', introspection }, count)
}
