import { ACCESS_TOKEN_PATH } from '../../../../src/http/access-token.ts'
import { INTROSPECT_PATH } from '../../../../src/http/introspect.ts'
import type { Bench } from '../../bench.ts'
import type { Contender } from '../../measure.ts'
import { type Row, totalCpuRatio } from '../../row.ts'
import { defineSection, Skipped } from '../../section.ts'
import { fillLive } from '../../world/fill-postgres.ts'
import type { Postgres } from '../../world/postgres.ts'
import { introspectRequest, tokenRequest } from '../../world/requests.ts'
import { assertPostgresIsInstalled } from '../postgres/section.ts'
import { hasHydra, hydra } from './hydra.ts'
import { buildJava, hasJava, keycloak, spring } from './java.ts'
import { openPeer, type Peer } from './peer.ts'

/** The servers that users would take instead, on the same PostgreSQL. */
export const peers = defineSection({
  name: 'peers',
  title: 'Keycloak, Spring Authorization Server and Ory Hydra on the same PostgreSQL, 8 connections',
  contenders: 15,
  preparation: 300,
  plots: [
    {
      file: 'peers.svg',
      title: 'CPU time per request, server and PostgreSQL, in microseconds on a logarithmic scale',
      bars: 'cpu',
    },
  ],
  run,
})

/**
 * Few: where secrets are hashed by bcrypt, a server answers a dozen requests a second. And less than the 10 connections that
 * Spring has to its database: an introspection takes two of them, so 10 introspections at once wait for each other.
 */
const CONNECTIONS = 8
/** Seconds. A server has three of them: a minute for its just-in-time compiler. */
const WARM_UP = 20

async function run(bench: Bench) {
  assertPostgresIsInstalled()
  const found = { java: hasJava(), hydra: hasHydra() }
  if (!found.java && !found.hydra) throw new Skipped('There is no `java` with `mvn` and no `hydra` on the PATH.')
  const postgres = await bench.postgres()
  const tokens = { stored: bench.size(100_000, 1000), count: bench.size(2000, 100) }
  const opened = [await thisServer(bench, postgres, tokens)]
  const notes = [
    `PostgreSQL ${postgres.version} with fsync, on the core of the load program; the servers on the other.`,
  ]
  if (found.java) {
    bench.step('gets Keycloak and Spring Authorization Server')
    const versions = buildJava()
    notes.push(
      `Keycloak ${versions.keycloak} (its tokens are JWTs, which it does not store), Spring Authorization Server ` +
        `${versions.spring} (opaque tokens), Java ${versions.java}.`,
    )
    opened.push(await keycloak(bench, postgres, tokens.count))
    for (const variant of [
      { name: 'Spring', hash: 'bcrypt', indexed: false },
      { name: 'Spring, indexed, SHA-256', hash: 'SHA-256', indexed: true },
    ] as const) {
      opened.push(await spring(bench, postgres, variant, tokens))
    }
  } else notes.push('Keycloak and Spring skipped: no `java` with `mvn` on the PATH.')
  if (found.hydra) opened.push(await hydra(bench, postgres, tokens.count))
  else notes.push('Hydra skipped: no `hydra` on the PATH.')

  const warmUp = bench.size(WARM_UP, 1)
  const rows: Record<string, Row> = await bench.measure(contendersOf(bench, opened, postgres), { warmUp })
  notes.push(
    `From the start to the first token, and memory then: ${opened.map(startOf).join('; ')}.`,
    ...KINDS.map((kind) => `CPU time relative to this server, ${kind}, PostgreSQL included: ${ratios(kind)}.`),
  )
  return { rows, notes }

  function ratios(kind: Kind): string {
    const [own, ...others] = opened.map(({ name }) => rows[`${kind}, ${name}`] as Row) as [Row, ...Row[]]
    return others
      .map((row) => `${row.name.slice(kind.length + 2)} ${totalCpuRatio(row, own)?.median.toFixed(0)}`)
      .join('; ')
  }
}

function startOf({ name, firstToken, firstMemory }: Peer): string {
  return `${name} ${firstToken.toFixed(1)} s, ${firstMemory.toFixed(0)} MiB`
}

const KINDS = ['token', 'introspection', 'wrong secret'] as const
type Kind = (typeof KINDS)[number]

/** Each kind of request to each server. */
function contendersOf(bench: Bench, peers: Peer[], database: Postgres): Record<string, Contender<string, ''>> {
  const contenders = KINDS.flatMap((kind) =>
    peers.map((peer, at) => {
      const { name, server } = peer
      const base = at === 0 ? undefined : `${kind}, ${peers[0]?.name}`
      return { name: `${kind}, ${name}`, server, database, ...loadOf(bench, peer, kind), base }
    }),
  )
  return Object.fromEntries(contenders.map((contender) => [contender.name, contender]))
}

function loadOf(bench: Bench, { application, tokenPath, introspection, accessTokens }: Peer, kind: Kind) {
  if (kind === 'token') return bench.load(CONNECTIONS, [tokenRequest(application, tokenPath)])
  if (kind === 'wrong secret') {
    const wrong = { ...application, client_secret: application.client_secret.replaceAll(/./g, 'x') }
    return bench.load(CONNECTIONS, [tokenRequest(wrong, tokenPath)], 401)
  }
  const { caller, path, port } = introspection
  const requests = accessTokens.map((one) => introspectRequest(caller, one, path))
  return { groups: { '': { ...bench.group(CONNECTIONS, requests), port } } }
}

/** Without a limit for failed attempts: a wrong secret is to be compared, as the peers do. */
async function thisServer(bench: Bench, postgres: Postgres, { stored, count }: { stored: number; count: number }) {
  const data = await bench.postgresData(postgres)
  const accessTokens = await fillLive({ postgres, url: data.env.DATABASE_URL }, stored, count)
  const server = await bench.serve(data, { env: { FAILURE_LIMIT: 'off' } })
  const introspection = { path: INTROSPECT_PATH, caller: data.suite }
  const [application] = data.applications
  const peer = await openPeer(
    { name: 'this server', server, application, tokenPath: ACCESS_TOKEN_PATH, introspection },
    0,
  )
  return { ...peer, accessTokens }
}
