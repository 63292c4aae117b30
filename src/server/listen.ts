import { lookup } from 'node:dns/promises'
import type { AddressInfo, Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { type Config, introspectionUrl } from '../config.ts'
import type { Observer } from '../domain/events.ts'
import { OperatorError } from '../domain/operator-error.ts'
import { REFUSALS_INTERVAL_MS } from '../domain/refusal.ts'
import type { Store } from '../domain/store.ts'
import type { Clock } from '../domain/time.ts'
import { USAGE_INTERVAL_MS } from '../domain/usage.ts'
import { type AppOptions, buildApp } from '../http/app.ts'
import { createProxies } from '../http/wire/proxies.ts'
import { createFailures } from '../issuer/failures.ts'
import { createIssuer } from '../issuer/issuer.ts'
import { saveMemory } from '../listener/garbage.ts'
import { countUnanswered } from '../listener/pipeline.ts'
import type { Tls } from '../listener/tls.ts'
import { createRefusals } from '../telemetry/refusals.ts'
import { createUsage } from '../telemetry/usage.ts'
import { hostInUrl } from '../web/address.ts'
import { startFlushLoop } from './loops.ts'
import type { Load } from './reporting.ts'
import type { Telemetry } from './telemetry.ts'

/**
 * How many connections may wait to be accepted, if the system allows it (Linux: net.core.somaxconn). With Node.js's 511 the
 * kernel would drop connections while a crowd connects, and clients would try again after a second.
 */
const BACKLOG = 8192

/** How long after the start its garbage is collected. */
const STARTED_MS = 5000

export type ListenConfig = Config & {
  /** How often usage is stored, in milliseconds. At most USAGE_INTERVAL_MS, the default. */
  usageInterval?: number
}

type Observing = Pick<Telemetry, 'observe' | 'observeDetails' | 'measure'>

/** `tls`: undefined for plain HTTP. The rest are clocks and times of which tests set their own. */
interface Options extends Pick<AppOptions, 'requestTimeout' | 'later' | 'tls'> {
  now?: Clock
  monotonic?: Clock
}

/** Builds what answers requests for a store, and what counts them. */
export async function buildServer(
  store: Store,
  { observe: log, observeDetails, measure }: Observing,
  config: Config,
  { now = Date.now, monotonic = () => performance.now(), ...times }: Options = {},
) {
  const { TRUST_PROXY: trustProxy, CONNECTION_LIMIT: connectionLimit } = config
  const { PUBLIC_URL: publicUrl, DOCS_URL: docsUrl } = config
  const acceptsBasic = config.CLIENT_AUTHENTICATION.includes('basic')
  const acceptsJwt = config.CLIENT_AUTHENTICATION.includes('jwt')
  const usage = createUsage({ now })
  const refusals = createRefusals({ now, count: usage.countRefusal })
  const observe: Observer = (event) => {
    refusals.observe(event)
    usage.observe(event)
    log(event)
  }
  // Loaded at the start, but only if needed: zod is large, and later an upgrade may have removed the files.
  const publicFields = config.HANDOVER ? (await import('../views/registry.ts')).PUBLIC_FIELDS : undefined
  const proxies = createProxies({ trustProxy, observe })
  const failures = createFailures({ isLimited: config.FAILURE_LIMIT, isShared: proxies.isShared, monotonic })
  const issuer = createIssuer({
    store,
    now,
    failures,
    observe,
    publicUrl,
    tokenQuota: config.TOKEN_QUOTA,
    publicFields,
  })
  const connections = new Set<Socket>()
  const urls = { publicUrl, introspectionUrl: introspectionUrl(config), docsUrl }
  const options = { connections, proxies, trustProxy, connectionLimit, acceptsBasic, acceptsJwt, ...urls, ...times }
  const app = await buildApp({ issuer, observe, observeDetails, measure, countCheck: usage.countCheck, ...options })
  return { app, issuer, usage, refusals, observe, connections }
}

/** Answers requests for a store until the app is closed. Throws OperatorError if it cannot listen. */
export async function listenAndServe(
  store: Store,
  telemetry: Observing,
  config: ListenConfig,
  tls?: () => Tls,
): Promise<{ app: FastifyInstance; address: string; load: () => Load }> {
  const { HOST, PORT, usageInterval = USAGE_INTERVAL_MS } = config
  const { app, issuer, usage, refusals, observe, connections } = await buildServer(store, telemetry, config, { tls })
  const loops: ReturnType<typeof startFlushLoop>[] = []
  app.addHook('onClose', async () => void (await Promise.all(loops.map(({ stop }) => stop()))))
  const address = await listen(app, HOST, PORT, tls ? 'https' : 'http').catch((cause: Error) => {
    throw new OperatorError(`Cannot listen on port ${PORT} of ${HOST}: ${cause.message}.`, { cause })
  })
  saveMemory(STARTED_MS)
  loops.push(
    startFlushLoop(
      () => issuer.flushUsage(observe).then(() => usage.flush(store)),
      usageInterval,
      (err) => observe({ type: 'usage not recorded', err }),
    ),
    startFlushLoop(
      () => refusals.flush(store),
      REFUSALS_INTERVAL_MS,
      (err) => observe({ type: 'refusals not recorded', err }),
    ),
  )
  return { app, address, load }

  function load(): Load {
    const { running, waiting } = issuer.importedSecretChecks()
    return {
      requestsInFlight: countUnanswered(connections),
      connections: connections.size,
      scryptRunning: running,
      scryptWaiting: waiting,
    }
  }
}

async function listen(app: FastifyInstance, host: string, port: number, scheme: 'http' | 'https'): Promise<string> {
  // One address: for all addresses of `localhost`, Fastify would create servers without the app's event listeners.
  const { address } = await lookup(host, { order: 'ipv4first' })
  await app.listen({ host: address, port, backlog: BACKLOG })
  // Fastify itself reports 127.0.0.1 for every address of the machine.
  const bound = app.server.address() as AddressInfo
  return `${scheme}://${hostInUrl(bound.address)}:${bound.port}`
}
