import { setTimeout as sleep } from 'node:timers/promises'
import type { PostgresLocation } from '../../domain/database-location.ts'
import type { Observer } from '../../domain/events.ts'
import { StoreUnavailable } from '../../domain/store.ts'
import { PostgresUnavailable } from './errors.ts'
import { openSession, type Session } from './session.ts'

/** The pause between two attempts to open a session; random, so that many nodes do not retry at the same time. */
const RETRY_MS = 100
const RETRY_JITTER_MS = 300

/** How long calls wait for the next session after one has broken: most are replaced by then. */
const REPLACEMENT_MS = 400

const CLOSED = new PostgresUnavailable('the store is closed')

export type Primary = Awaited<ReturnType<typeof keepPrimary>>

/**
 * Keeps a session with the primary, and replaces it whenever it ends. Resolves when the first session is open. Rejects with
 * StoreUnavailable or OperatorError if none can be opened within `timeout` milliseconds, or if retrying is useless.
 */
export async function keepPrimary(
  location: PostgresLocation,
  { timeout, observe }: { timeout: number; observe: Observer },
) {
  let current: Session | undefined
  let reason: unknown
  /** Resolves when the next session is open, or when calls should stop waiting for it. */
  let replacement: Promise<unknown> | undefined
  const closing = new AbortController()
  const closed = Promise.withResolvers<PostgresUnavailable>()

  const first = await open(performance.now() + timeout)
  // Rejects when the store is closed.
  void keep(first).catch(() => {})

  /** Retries until a session is open or the deadline has passed. With a deadline, rejects at once if the error `isFinal`. */
  async function open(deadline?: number): Promise<Session> {
    for (;;) {
      try {
        return await openSession(location, { observe })
      } catch (error) {
        reason = error
        if (deadline !== undefined && (isFinal(error) || performance.now() > deadline)) throw error
      }
      await sleep(RETRY_MS + Math.random() * RETRY_JITTER_MS, undefined, { signal: closing.signal })
    }
  }

  async function keep(first: Session): Promise<never> {
    let session = first
    for (;;) {
      current = session
      // Resolves at once if the store was closed while the session was being opened.
      const loss = await Promise.race([closed.promise, session.ended])
      session.end(loss)
      current = undefined
      reason = loss
      closing.signal.throwIfAborted()
      observe({ type: 'database lost', err: loss })
      const next = open()
      // A server that did not answer rarely returns that soon.
      const tooLong = loss.isSilent ? undefined : sleep(REPLACEMENT_MS, undefined, { signal: closing.signal })
      replacement = Promise.race([next, tooLong]).catch(() => {})
      session = await next
      observe({ type: 'database found', host: session.host })
    }
  }

  return {
    /** The session to work with. Rejects with StoreUnavailable if there is none, at once or after a short wait. */
    async session(): Promise<Session> {
      if (!current) await replacement
      if (current) return current
      throw reason instanceof StoreUnavailable ? reason : new StoreUnavailable((reason as Error).message)
    },
    current: () => current,
    close(): void {
      reason = CLOSED
      closing.abort()
      closed.resolve(CLOSED)
    },
  }
}

/** Whether retrying is useless: the settings are wrong, or there is a bug. */
function isFinal(error: unknown): boolean {
  return !(error instanceof StoreUnavailable) || (error instanceof PostgresUnavailable && error.isMisconfigured)
}
