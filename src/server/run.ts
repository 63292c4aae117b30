import closeWithGrace from 'close-with-grace'
import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import type { Config } from '../config.ts'
import type { Store } from '../domain/store.ts'
import { buildApp } from '../http/app.ts'
import { createIssuer } from '../issuer/issuer.ts'
import { startPurge } from '../issuer/purge.ts'
import { flushLog } from '../telemetry/log.ts'

/** How long requests in flight may take to end after a signal, in milliseconds. */
const GRACE = 10_000

/** The signals that an operator sends. */
export type EndSignal = 'SIGINT' | 'SIGTERM' | 'SIGHUP'

export type ServerConfig = Pick<Config, 'HOST' | 'PORT' | 'TRUST_PROXY' | 'PUBLIC_URL'>

/** Serves a store in this process until a signal comes. Resolves to the address when it listens. */
export async function startServer(store: Store, log: Logger, config: ServerConfig): Promise<string> {
  const { app, address } = await listen(store, log, config)
  const purge = startLoggedPurge(store, log)
  endWell(log, async ({ signal }) => {
    log.info({ signal }, 'stopping')
    await app.close()
    await purge.stop()
    await store.close()
    log.info('stopped')
  })
  return address
}

/** Answers requests for a store; the rest is the caller's. */
export async function listen(
  store: Store,
  log: Logger,
  { HOST, PORT, TRUST_PROXY, PUBLIC_URL }: ServerConfig,
): Promise<{ app: FastifyInstance; address: string }> {
  const issuer = createIssuer({ store, now: Date.now })
  const app = await buildApp({ issuer, log, trustProxy: TRUST_PROXY, publicUrl: PUBLIC_URL })
  return { app, address: await app.listen({ host: HOST, port: PORT }) }
}

/** The purge; what goes wrong is logged. */
export function startLoggedPurge(store: Store, log: Logger) {
  const onError = (err: unknown) => log.warn({ err }, 'purge failed, will be tried again')
  return startPurge({ store, now: Date.now, onError })
}

/**
 * Ends the process after `close` when a signal comes (but for those to `skip`) or an error that nobody foresaw, and at
 * the second one at once. Returns a function that does so without either.
 */
export function endWell(
  log: Logger,
  close: (reason: { signal?: string }) => Promise<void>,
  { skip = [] as EndSignal[] } = {},
): () => void {
  // Not an exit, which would wait for a log that nobody reads.
  const onTimeout = process.kill.bind(process, process.pid, 'SIGKILL')
  const end = closeWithGrace({ delay: GRACE, logger: log, onTimeout, skip }, async ({ signal, err }) => {
    if (err) log.fatal({ err }, 'unforeseen error')
    await close(signal ? { signal } : {})
    await flushLog(log)
  })
  return end.close
}
