import { setTimeout as sleep } from 'node:timers/promises'
import type { Observer } from '../domain/events.ts'
import type { FoundToken, Store } from '../domain/store.ts'
import type { Clock } from '../domain/time.ts'
import { TOKEN_LIFETIME } from '../domain/token.ts'
import type { Opened } from './opened.ts'

/** The store that was copied to the present one. Of the present one's tokens it knows the older ones. */
export interface Previous extends Pick<Store, 'findToken' | 'ping' | 'close'> {
  /** Its place, for the log. */
  database: string
  /** When its newest token was issued, in milliseconds since the epoch; undefined: it has none. */
  newestTokenAt(): Promise<number | undefined>
}

interface Options {
  now: Clock
  observe: Observer
  /** How long a token lives, in milliseconds. */
  lifetime?: number
}

/** How often it is looked whether the last token has expired: so many times in a token's life. */
const LOOKS = 60

/**
 * A store that looks up tokens in the one that was copied to it, too. That one may go on issuing and revoking until its
 * server ends: a token is known if one of the two has it, and revoked if it is revoked in one of them. Whose it is says the
 * present store alone. When a token's life has passed and the last token of the previous store has expired, that is closed.
 */
export function withPrevious(store: Opened, previous: Previous, options: Options): Opened {
  const { ask, isAsked, close } = askForSomeTime(previous, options)
  /** Tokens that are being added to the present store, by id: a second one of an id would be refused. */
  const moving = new Map<string, Promise<void>>()

  async function findToken(id: Buffer): Promise<FoundToken | undefined> {
    const found = await store.findToken(id)
    if (found && found.stored.revokedAt !== null) return found
    const before = await ask(() => previous.findToken(id))
    if (!before) return found
    if (!found) return { stored: before.stored, application: await applicationOf(before) }
    const { revokedAt } = before.stored
    return revokedAt === null ? found : { ...found, stored: { ...found.stored, revokedAt } }
  }

  /** The application as it is now; undefined where it was removed since, also if its client id was registered again. */
  async function applicationOf({ stored, application }: FoundToken): Promise<FoundToken['application']> {
    const present = application && (await store.findApplication(application.clientId))
    return present?.key === stored.applicationKey ? present : undefined
  }

  async function revokeToken(id: Buffer, at: number): Promise<void> {
    if (isAsked() && !(await store.findToken(id))) await takeOver(id)
    await store.revokeToken(id, at)
  }

  /** Adds a token to the present store that only the previous one has, so that it can be revoked there. */
  async function takeOver(id: Buffer): Promise<void> {
    const key = id.toString('latin1')
    const adding = moving.get(key) ?? add(id).finally(() => moving.delete(key))
    moving.set(key, adding)
    await adding
  }

  async function add(id: Buffer): Promise<void> {
    const before = await ask(() => previous.findToken(id))
    if (!before) return
    await store.addToken(before.stored).catch(async (error) => {
      // Another process has done it.
      if (!(await store.findToken(id))) throw error
    })
  }

  return {
    ...store,
    previous: previous.database,
    findToken,
    revokeToken,

    async ping() {
      await store.ping()
      await ask(() => previous.ping())
    },

    async close() {
      await Promise.all([store.close(), close()])
    },
  }
}

/** Lets the previous store be asked until its last token has expired, and closes it then. */
function askForSomeTime(previous: Previous, { now, observe, lifetime = TOKEN_LIFETIME }: Options) {
  const stopping = new AbortController()
  let isAsked = true
  /** What the previous store is being asked. */
  const underWay = new Set<Promise<unknown>>()
  void closeInTime()

  async function closeInTime(): Promise<void> {
    const pause = (ms: number) => sleep(ms, undefined, { signal: stopping.signal, ref: false }).catch(() => {})
    await pause(lifetime)
    while (!stopping.signal.aborted && (await isNeeded())) await pause(lifetime / LOOKS)
    if (stopping.signal.aborted) return
    // Whatever becomes of that, it is not asked any more.
    await closePrevious().catch(() => {})
    observe({ type: 'previous database closed', database: previous.database, setting: 'PREVIOUS_DATABASE_URL' })
  }

  async function isNeeded(): Promise<boolean> {
    // What cannot be read now may be there all the same.
    const newest = await previous.newestTokenAt().catch(() => Number.POSITIVE_INFINITY)
    return newest !== undefined && newest + lifetime > now()
  }

  async function closePrevious(): Promise<void> {
    isAsked = false
    await Promise.allSettled(underWay)
    await previous.close()
  }

  return {
    isAsked: () => isAsked,

    /** Resolves to undefined where the previous store is not asked any more. */
    async ask<Result>(question: () => Promise<Result>): Promise<Result | undefined> {
      if (!isAsked) return undefined
      const answer = question()
      underWay.add(answer)
      return answer.finally(() => underWay.delete(answer))
    },

    async close(): Promise<void> {
      stopping.abort()
      if (isAsked) await closePrevious()
    },
  }
}
