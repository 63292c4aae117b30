import closeWithGrace from 'close-with-grace'
import type { Logger } from 'pino'
import { buildApp } from '../app.ts'
import type { Config } from '../config.ts'
import { createIssuer } from '../issuer/issuer.ts'
import { startPurge } from '../issuer/purge.ts'
import type { Store } from '../issuer/store.ts'
import { flushLog } from '../log.ts'

/** How long requests in flight may take to end after a signal, in milliseconds. */
const GRACE = 10_000

/** Serves a store until a signal comes; then ends as an operator expects. Resolves to the address when it listens. */
export async function startServer(
  store: Store,
  log: Logger,
  { HOST, PORT, TRUST_PROXY, PUBLIC_URL }: Pick<Config, 'HOST' | 'PORT' | 'TRUST_PROXY' | 'PUBLIC_URL'>,
): Promise<string> {
  const now = Date.now
  const app = await buildApp({
    issuer: createIssuer({ store, now }),
    log,
    trustProxy: TRUST_PROXY,
    publicUrl: PUBLIC_URL,
  })
  const address = await app.listen({ host: HOST, port: PORT })
  const purge = startPurge({ store, now, onError: (err) => log.warn({ err }, 'purge failed, will be tried again') })

  // Not an exit, which would wait for a log that nobody reads.
  const onTimeout = process.kill.bind(process, process.pid, 'SIGKILL')
  closeWithGrace({ delay: GRACE, logger: log, onTimeout }, async ({ signal, err }) => {
    if (err) log.fatal({ err }, 'unforeseen error')
    log.info({ signal }, 'stopping')
    await app.close()
    await purge.stop()
    await store.close()
    log.info('stopped')
    await flushLog(log)
  })
  return address
}
