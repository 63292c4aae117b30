import { spawn } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:https'
import { join } from 'node:path'
import * as jose from 'jose'
import { Provider } from 'oidc-provider'
import type { Test } from 'tap'
import { makeCertificate } from './certificate.ts'
import { freePort } from './free-port.ts'
import { startKeycloak } from './keycloak.ts'
import { listenHere } from './listen-here.ts'
import { runProgram } from './run-program.ts'
import { temporaryFolder } from './temporary-folder.ts'
import { until } from './until.ts'

/** A workload of a real issuer: how it gets a JWT, and what a server must know of the issuer. */
interface RealIssuer {
  jwt: () => Promise<string>
  /** The certificate of the issuer, or, where it serves no keys, a file with them. */
  certificateFile?: string
  jwksFile?: string
  /** The audience of the JWTs, where the workload cannot choose it. */
  audience?: string
}

const WORKLOAD = { client_id: 'orders', client_secret: 'A-secret-of-the-issuer' }

/** Starts a program that ends with the test. */
function run(t: Test, program: string, args: string[], { detached = false, env = {} } = {}) {
  const child = spawn(program, args, { stdio: 'ignore', detached, env: { ...process.env, ...env } })
  t.teardown(() => process.kill(detached ? -(child.pid as number) : (child.pid as number), 'SIGKILL'))
}

/** Waits for an issuer, and resolves to a function that asks it for a token as the workload. */
async function askFor(
  url: string,
  { certificateFile, field = 'access_token', scope = '' }: { certificateFile: string; field?: string; scope?: string },
) {
  const form = new URLSearchParams({ grant_type: 'client_credentials', ...(scope && { scope }) }).toString()
  const user = `${WORKLOAD.client_id}:${WORKLOAD.client_secret}`
  const ask = async () => {
    const args = ['--silent', '--cacert', certificateFile, '--user', user, '--data', form, url]
    const { out } = await runProgram('curl', args)
    return JSON.parse(out || '{}')[field] as string | undefined
  }
  await until(async () => (await ask().catch(() => undefined)) !== undefined, 400_000)
  return async () => String(await ask())
}

export const REAL_ISSUERS: Record<
  string,
  { needs: string[]; start: (t: Test, audience: string) => Promise<RealIssuer> }
> = {
  'oidc-provider': {
    needs: ['curl'],
    async start(t, audience) {
      const { certificate: cert, key, files } = makeCertificate(temporaryFolder(t))
      const { privateKey } = await jose.generateKeyPair('ES256', { extractable: true })
      const server = createServer({ cert, key })
      const issuer = `https://localhost:${(await listenHere(t, server)).port}`
      const resource = {
        scope: '',
        audience,
        accessTokenFormat: 'jwt' as const,
        jwt: { sign: { alg: 'ES256' as const } },
      }
      const provider = new Provider(issuer, {
        clients: [
          {
            ...WORKLOAD,
            grant_types: ['client_credentials'],
            redirect_uris: [],
            response_types: [],
            id_token_signed_response_alg: 'ES256',
          },
        ],
        jwks: { keys: [{ ...(await jose.exportJWK(privateKey)), kid: 'first', alg: 'ES256', use: 'sig' } as never] },
        features: {
          devInteractions: { enabled: false },
          clientCredentials: { enabled: true },
          resourceIndicators: { enabled: true, defaultResource: () => audience, getResourceServerInfo: () => resource },
        },
      })
      server.on('request', provider.callback())
      const options = { certificateFile: files.certificate }
      return { ...options, jwt: await askFor(`${issuer}/token`, options) }
    },
  },
  dex: {
    needs: ['dex', 'curl'],
    async start(t) {
      const folder = temporaryFolder(t)
      const { files } = makeCertificate(folder)
      const port = await freePort()
      const config = {
        issuer: `https://localhost:${port}/dex`,
        storage: { type: 'memory' },
        web: { https: `127.0.0.1:${port}`, tlsCert: files.certificate, tlsKey: files.key },
        oauth2: { grantTypes: ['client_credentials', 'authorization_code'] },
        staticClients: [{ id: WORKLOAD.client_id, secret: WORKLOAD.client_secret, name: 'Orders', redirectURIs: [] }],
        enablePasswordDB: true,
      }
      writeFileSync(join(folder, 'dex.json'), JSON.stringify(config))
      run(t, 'dex', ['serve', join(folder, 'dex.json')])
      const options = { certificateFile: files.certificate, scope: 'openid', field: 'id_token' }
      return { ...options, jwt: await askFor(`${config.issuer}/token`, options), audience: WORKLOAD.client_id }
    },
  },
  Keycloak: {
    needs: ['java', 'mvn', 'curl'],
    async start(t, audience) {
      const { files } = makeCertificate(temporaryFolder(t))
      const mapper = {
        ...{ name: 'audience', protocol: 'openid-connect', protocolMapper: 'oidc-audience-mapper' },
        config: { 'included.custom.audience': audience, 'access.token.claim': 'true' },
      }
      const { client_id: clientId, client_secret: secret } = WORKLOAD
      const client = { clientId, secret, serviceAccountsEnabled: true, protocolMappers: [mapper] }
      const { tlsPort } = await startKeycloak(t, { realm: 'company', enabled: true, clients: [client] }, files)
      const options = { certificateFile: files.certificate }
      const url = `https://localhost:${tlsPort}/realms/company/protocol/openid-connect/token`
      return { ...options, jwt: await askFor(url, options) }
    },
  },
  'SPIRE server': {
    needs: ['spire-server'],
    async start(t, audience) {
      const folder = temporaryFolder(t)
      const [socket, config] = [join(folder, 'api.sock'), join(folder, 'server.conf')]
      writeFileSync(
        config,
        `server { bind_address = "127.0.0.1" bind_port = "${await freePort()}" socket_path = "${socket}"
  trust_domain = "partner.example" data_dir = "${folder}" jwt_issuer = "https://spire.partner.example" }
plugins {
  DataStore "sql" { plugin_data { database_type = "sqlite3" connection_string = "${folder}/store.sqlite3" } }
  KeyManager "memory" { plugin_data {} }
  NodeAttestor "join_token" { plugin_data {} }
}
`,
      )
      run(t, 'spire-server', ['run', '-config', config])
      await until(() => existsSync(socket))
      const ask = async (...args: string[]) =>
        (await runProgram('spire-server', [...args, '-socketPath', socket])).out.trim()
      const bundle = join(folder, 'bundle.json')
      await until(async () => {
        writeFileSync(bundle, await ask('bundle', 'show', '-format', 'spiffe'))
        return readFileSync(bundle, 'utf8').includes('jwt-svid')
      })
      const id = 'spiffe://partner.example/ns/shop/sa/orders'
      return { jwt: () => ask('jwt', 'mint', '-spiffeID', id, '-audience', audience), jwksFile: bundle }
    },
  },
}
