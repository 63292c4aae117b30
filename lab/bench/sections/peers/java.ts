import { hash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Bench } from '../../bench.ts'
import { peerClient } from '../../servers/peer.ts'
import type { Postgres } from '../../world/postgres.ts'
import { isInstalled, javaDatabase, openPeer, type Peer, runCommand } from './peer.ts'

const FOLDER = join(import.meta.dirname, '../../servers/java')
const SPRING = join(FOLDER, 'target/spring.jar')
const KEYCLOAK = join(FOLDER, 'target/keycloak')
const client = { CLIENT_ID: peerClient.client_id, CLIENT_SECRET: peerClient.client_secret }

export const hasJava = () => isInstalled('java', ['-version'], /version/) && isInstalled('mvn', ['-v'], /Maven/)

/** Gets Keycloak and Spring from Maven's repository. Returns their versions. */
export function buildJava() {
  runCommand('mvn', ['-q', '-B', '-f', join(FOLDER, 'pom.xml'), 'clean', 'package'])
  const [keycloak] = readdirSync(KEYCLOAK) as [string]
  const libraries = readFileSync(SPRING, 'latin1')
  return {
    keycloak: keycloak.replace('keycloak-', ''),
    spring: /spring-security-oauth2-authorization-server-([\d.]+)\.jar/.exec(libraries)?.[1],
    java: /"(.+)"/.exec(runCommand('java', ['-version']))?.[1],
  }
}

/** Keycloak in production mode, with a realm of its own. One node, so its cache is local. */
export async function keycloak(bench: Bench, postgres: Postgres, count: number): Promise<Peer> {
  bench.step('builds Keycloak and imports its realm')
  const { jdbc, username, password } = await javaDatabase(postgres)
  const program = join(KEYCLOAK, readdirSync(KEYCLOAK)[0] as string, 'bin/kc.sh')
  const env = {
    ...client,
    ...{ KC_DB: 'postgres', KC_DB_URL: jdbc, KC_DB_USERNAME: username, KC_DB_PASSWORD: password },
    ...{ KC_CACHE: 'local', KC_HTTP_ENABLED: 'true', KC_HTTP_HOST: '127.0.0.1', KC_HOSTNAME: 'http://localhost' },
  }
  runCommand(program, ['build'], env)
  runCommand(program, ['import', '--optimized', '--file', join(FOLDER, 'keycloak-realm.json')], env)
  const protocol = '/realms/bench/protocol/openid-connect/token'
  const server = await bench.foreign([program, 'start', '--optimized'], {
    env: { ...env, KC_HTTP_PORT: `\${PORT}` },
    path: '/realms/bench',
  })
  const introspection = { path: `${protocol}/introspect`, caller: peerClient }
  return openPeer({ name: 'Keycloak', server, application: peerClient, tokenPath: protocol, introspection }, count)
}

interface SpringOptions {
  name: string
  /** How secrets are hashed. */
  hash: 'bcrypt' | 'SHA-256'
  /** Whether the columns that a token is looked up by have indexes. */
  indexed: boolean
}

/** Spring Authorization Server with `stored` tokens in its database; `count` of them are introspected. */
export async function spring(
  bench: Bench,
  postgres: Postgres,
  { name, hash, indexed }: SpringOptions,
  { stored, count }: { stored: number; count: number },
): Promise<Peer> {
  bench.step(`starts ${name}`)
  const { url, jdbc, username, password } = await javaDatabase(postgres)
  const server = await bench.foreign(['java', '-jar', SPRING], {
    env: {
      ...client,
      ...{ SPRING_DATASOURCE_URL: jdbc, SPRING_DATASOURCE_USERNAME: username, SPRING_DATASOURCE_PASSWORD: password },
      ...{ SERVER_ADDRESS: '127.0.0.1', SERVER_PORT: `\${PORT}`, SECRET_HASH: hash },
    },
    path: '/.well-known/oauth-authorization-server',
  })
  const introspection = { path: '/oauth2/introspect', caller: peerClient }
  const opened = { name, server, application: peerClient, tokenPath: '/oauth2/token', introspection }
  const peer = await openPeer(opened, 0)
  await postgres.query(url, FILL, [stored])
  if (indexed)
    for (const column of LOOKED_UP) await postgres.query(url, `CREATE INDEX ON oauth2_authorization (${column})`)
  await postgres.query(url, 'VACUUM (ANALYZE) oauth2_authorization')
  return { ...peer, accessTokens: Array.from({ length: count }, (_, n) => accessToken(n * Math.floor(stored / count))) }
}

/** A lookup compares all of them. */
const LOOKED_UP = ['state'].concat(
  ['authorization_code', 'access_token', 'oidc_id_token', 'refresh_token', 'user_code', 'device_code'].map(
    (kind) => `${kind}_value`,
  ),
)

/** Copies of a token, as long as Spring's, made from their numbers: here and by accessToken. */
const FILL = `
  INSERT INTO oauth2_authorization
  SELECT (jsonb_populate_record(one, jsonb_build_object('id', n, 'access_token_value', repeat(md5(n::text), 4)))).*
    FROM (SELECT row FROM oauth2_authorization AS row LIMIT 1) AS first (one), generate_series(0, $1::int - 1) AS n`

function accessToken(n: number): string {
  return hash('md5', String(n)).repeat(4)
}
