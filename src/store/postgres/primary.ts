import { setTimeout as sleep } from 'node:timers/promises'
import type { PostgresLocation } from '../../domain/database-location.ts'
import type { Observer } from '../../domain/events.ts'
import { StoreUnavailable } from '../../domain/store.ts'
import type { Clock } from '../../domain/time.ts'
import { PostgresUnavailable } from './explain.ts'
import { openSession, type Session } from './session.ts'

/** Between two tries to open a session; with some chance in it, so that many nodes do not come at once. */
const RETRY_MS = 100
const RETRY_JITTER_MS = 300

/** How long calls wait for the next session when one has broken: most are replaced before anybody notices. */
const PATIENCE_MS = 400

const CLOSED = new PostgresUnavailable('the store is closed')

export interface Primary {
  /** The session to work with. Rejects with StoreUnavailable where there is none, soon or at once. */
  session(): Promise<Session>
  close(): void
}

interface PrimaryOptions {
  /** How long the first session is tried to be opened. Milliseconds. */
  timeout: number
  monotonic: Clock
  observe: Observer
}

/**
 * Keeps a session with the primary: when it has ended, the next one is opened as soon as that is possible. Resolves when the
 * first one is there. Rejects with StoreUnavailable or OperatorError where there is none in time, or where trying again is no
 * use.
 */
export async function keepPrimary(
  location: PostgresLocation,
  { timeout, monotonic, observe }: PrimaryOptions,
): Promise<Primary> {
  let current: Session | undefined
  /** Why there is no session. */
  let reason: unknown
  const closing = new AbortController()
  const { promise: closed, resolve: close } = Promise.withResolvers<PostgresUnavailable>()
  const next = createNext(closed)

  const deadline = monotonic() + timeout
  const first = await open((error) => isFinal(error) || monotonic() > deadline)
  // Rejects when it is closed while there is no session.
  void keep(first).catch(() => {})

  /** Opens a session, however often that has to be tried, unless `isOver` says of an error that it was the last one. */
  async function open(isOver: (error: unknown) => boolean): Promise<Session> {
    for (;;) {
      try {
        return await openSession(location, { monotonic, observe })
      } catch (error) {
        reason = error
        if (isOver(error)) throw error
      }
      await sleep(RETRY_MS + Math.random() * RETRY_JITTER_MS, undefined, { signal: closing.signal })
    }
  }

  async function keep(first: Session): Promise<never> {
    for (let session = first; ; ) {
      current = session
      next.resolve(session)
      // Closed: maybe while it was being opened.
      const loss = await Promise.race([closed, session.ended])
      session.end(loss)
      current = undefined
      reason = loss
      closing.signal.throwIfAborted()
      observe({ type: 'database lost', err: loss })
      if (!loss.isSilent) next.begin(loss)
      session = await open(() => false)
      observe({ type: 'database found', host: session.host })
    }
  }

  return {
    async session() {
      if (current) return current
      const awaited = next.session()
      if (awaited) return awaited
      throw reason instanceof StoreUnavailable ? reason : new StoreUnavailable((reason as Error).message)
    },
    close() {
      closing.abort()
      next.end()
      close(CLOSED)
    },
  }
}

/** The next session, while it is worth waiting for. */
function createNext(closed: Promise<PostgresUnavailable>) {
  let waiting: PromiseWithResolvers<Session> | undefined
  let patience: NodeJS.Timeout | undefined

  function end(): void {
    clearTimeout(patience)
    waiting = undefined
  }

  return {
    /** Undefined: do not wait for one. */
    session: () => waiting?.promise,

    begin(loss: PostgresUnavailable): void {
      const started = Promise.withResolvers<Session>()
      started.promise.catch(() => {})
      void closed.then(started.reject)
      waiting = started
      patience = setTimeout(() => {
        started.reject(loss)
        end()
      }, PATIENCE_MS)
    },

    resolve(session: Session): void {
      waiting?.resolve(session)
      end()
    },
    end,
  }
}

/** Whether trying again is no use: the settings are wrong, or there is a bug. */
function isFinal(error: unknown): boolean {
  return !(error instanceof StoreUnavailable) || (error instanceof PostgresUnavailable && error.isWrong)
}
