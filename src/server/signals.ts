import closeWithGrace from 'close-with-grace'
import type { Telemetry } from './telemetry.ts'

/** How long requests in flight may take after a signal. */
const CLOSE_TIMEOUT_MS = 10_000

/** The signals that an operator sends. */
export type OperatorSignal = 'SIGINT' | 'SIGTERM' | 'SIGHUP'

/**
 * Ends the process after `close` when a signal comes (but for those to `skip`) or an unexpected error, and at a second one
 * at once. Returns a function that does so without either.
 */
export function closeOnSignal(
  { observe, flush }: Telemetry,
  close: (reason: { signal?: string }) => Promise<void>,
  { skip = [] as OperatorSignal[] } = {},
): () => void {
  // Not an exit, which would wait for a log that nobody reads.
  const onTimeout = process.kill.bind(process, process.pid, 'SIGKILL')
  const logger = { error: (err: unknown) => observe({ type: 'shutdown cut short', err }) }
  const grace = closeWithGrace({ delay: CLOSE_TIMEOUT_MS, logger, onTimeout, skip }, async ({ signal, err }) => {
    if (err) observe({ type: 'unexpected error', err })
    await close(signal ? { signal } : {})
    await flush()
  })
  return grace.close
}
