import { setTimeout as sleep } from 'node:timers/promises'
import type { Observer } from '../domain/events.ts'
import type { FoundToken, Store } from '../domain/store.ts'
import type { Clock } from '../domain/time.ts'
import { TOKEN_LIFETIME } from '../domain/token.ts'
import type { Opened } from './opened.ts'

/** The store that was copied to the current one; it may hold tokens that the current one lacks. */
export interface Previous extends Pick<Store, 'findToken' | 'ping' | 'close'> {
  database: string
  /** When its newest token was issued; undefined if it has none. */
  newestTokenAt(): Promise<number | undefined>
}

interface Options {
  now: Clock
  observe: Observer
  lifetime?: number
}

/** How many times per token lifetime to check whether the last token of the previous store has expired. */
const CHECKS_PER_LIFETIME = 60

/**
 * A store that also looks up tokens in the previous store, where the old server may issue and revoke some until it stops.
 * A token exists if either store has it, and is revoked if it is revoked in either; its application always comes from the
 * current store. The previous store is closed after a token's lifetime, once its last token has expired.
 */
export function withPrevious(store: Opened, previous: Previous, options: Options): Opened {
  const { ask, isOpen, close } = closeWhenExpired(previous, options)
  /** Tokens that are being copied to the current store, by id: adding one twice would fail. */
  const copying = new Map<string, Promise<unknown>>()

  async function findToken(id: Buffer): Promise<FoundToken | undefined> {
    const found = await store.findToken(id)
    if (found && found.stored.revokedAt !== null) return found
    const old = await ask(() => previous.findToken(id))
    if (!old) return found
    if (!found) return { stored: old.stored, application: await applicationOf(old) }
    const { revokedAt } = old.stored
    return revokedAt === null ? found : { ...found, stored: { ...found.stored, revokedAt } }
  }

  /** The application in the current store; undefined if it was removed, even if its client id is registered again. */
  async function applicationOf({ stored, application }: FoundToken): Promise<FoundToken['application']> {
    const current = application && (await store.findApplication(application.clientId))
    return current?.key === stored.applicationKey ? current : undefined
  }

  async function revokeToken(id: Buffer, at: number): Promise<void> {
    if (isOpen() && !(await store.findToken(id))) {
      const key = id.toString('latin1')
      const copied = copying.get(key) ?? copyToken(id).finally(() => copying.delete(key))
      copying.set(key, copied)
      await copied
    }
    await store.revokeToken(id, at)
  }

  async function copyToken(id: Buffer): Promise<void> {
    const old = await ask(() => previous.findToken(id))
    if (!old) return
    await store.addToken(old.stored).catch(async (error) => {
      // Another process may have added it.
      if (!(await store.findToken(id))) throw error
    })
  }

  return {
    ...store,
    previous: previous.database,
    findToken,
    revokeToken,

    async ping(isDoubted) {
      await store.ping(isDoubted)
      await ask(() => previous.ping())
    },

    async close() {
      await Promise.all([store.close(), close()])
    },
  }
}

/** Keeps the previous store open until its last token has expired. */
function closeWhenExpired(previous: Previous, { now, observe, lifetime = TOKEN_LIFETIME }: Options) {
  const stopping = new AbortController()
  const pending = new Set<Promise<unknown>>()
  let isOpen = true
  void closeInTime()

  async function closeInTime(): Promise<void> {
    const pause = (ms: number) => sleep(ms, undefined, { signal: stopping.signal, ref: false }).catch(() => {})
    await pause(lifetime)
    while (!stopping.signal.aborted && (await isNeeded())) await pause(lifetime / CHECKS_PER_LIFETIME)
    if (stopping.signal.aborted) return
    await closePrevious().catch(() => {})
    observe({ type: 'previous database closed', database: previous.database, setting: 'PREVIOUS_DATABASE_URL' })
  }

  async function isNeeded(): Promise<boolean> {
    // A store that cannot be read now may still contain tokens.
    const newest = await previous.newestTokenAt().catch(() => Number.POSITIVE_INFINITY)
    return newest !== undefined && newest + lifetime > now()
  }

  async function closePrevious(): Promise<void> {
    isOpen = false
    await Promise.allSettled(pending)
    await previous.close()
  }

  return {
    isOpen: () => isOpen,

    /** Resolves to undefined once the previous store is closed. */
    async ask<Result>(question: () => Promise<Result>): Promise<Result | undefined> {
      if (!isOpen) return undefined
      const answer = question()
      pending.add(answer)
      return answer.finally(() => pending.delete(answer))
    },

    async close(): Promise<void> {
      stopping.abort()
      if (isOpen) await closePrevious()
    },
  }
}
