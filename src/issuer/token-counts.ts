import type { Application, ApplicationKey } from '../domain/application.ts'
import type { Observer } from '../domain/events.ts'
import { inSteps } from '../domain/in-steps.ts'
import { RequestRefused } from '../domain/refusal.ts'
import type { Store } from '../domain/store.ts'
import { HOUR, hourOf, type TokenCount } from '../domain/usage.ts'

/** A token lives an hour: whoever gets more than this in one asks for a token per call, it seems. */
const MANY_TOKENS = 360

/** The tokens of one application in one hour. */
export interface TokenCounter {
  readonly applicationKey: ApplicationKey
  readonly clientId: string
  readonly hour: number
  /** What all processes had issued, when the store was last asked. */
  stored: number
  /** What this process has issued and refused since then. */
  issued: number
  refused: number
  /** When its last token was stored, in milliseconds since the epoch; null: the store knows it. */
  lastTokenAt: number | null
}

export type TokenCounts = ReturnType<typeof createTokenCounts>

/**
 * Counts the tokens of each application and hour, and holds applications to their quota. `flush` hands the counts to the
 * store and learns there what other processes have issued: together they may exceed a quota by what they issue between two
 * flushes.
 */
export function createTokenCounts({ store, tokenQuota }: { store: Store; tokenQuota: number }) {
  const counters = new Map<ApplicationKey, TokenCounter>()
  /** Those of an hour that is over, until they are stored. */
  let past: TokenCounter[] = []

  /** The counter of an application at this time, in milliseconds since the epoch, if it is known. */
  function find(key: ApplicationKey, at: number): TokenCounter | undefined {
    const counter = counters.get(key)
    return counter?.hour === hourOf(at) ? counter : undefined
  }

  /** The counter where it is not known: the first time in an hour. Throws StoreUnavailable. */
  async function open({ key, clientId }: Application, at: number): Promise<TokenCounter> {
    const hour = hourOf(at)
    const [counted] = tokenQuota === Infinity ? [] : await store.listTokenCounts([key], [hour])
    const stored = counted?.issued ?? 0
    const known = find(key, at)
    if (known) return known
    const before = counters.get(key)
    if (before && isFresh(before)) past.push(before)
    const counter = { applicationKey: key, clientId, hour, stored, issued: 0, refused: 0, lastTokenAt: null }
    counters.set(key, counter)
    return counter
  }

  /** Counts a token that is about to be issued at this time. Throws RequestRefused where that is more than the quota. */
  function count(counter: TokenCounter, at: number): void {
    if (counter.stored + counter.issued >= tokenQuota) {
      counter.refused++
      const left = (counter.hour + 1) * HOUR - at
      const { clientId } = counter
      throw new RequestRefused('token quota exceeded', { retryAfter: Math.ceil(left / 1000), clientId })
    }
    counter.issued++
  }

  /**
   * Hands the counts to the store, in small steps, and forgets those that are over. Tells what an operator should know, once
   * per application and hour among all processes. Throws StoreUnavailable; the next flush tries again.
   */
  async function flush(now: number, tell: Observer): Promise<void> {
    try {
      await inSteps([...past, ...counters.values()].filter(isFresh), async (step) => {
        const changes = step.map((counter) => ({ ...counter }))
        const sums = await store.addTokenCounts(changes)
        for (const [at, counter] of step.entries()) {
          const [change, sum] = [changes[at] as TokenCount, sums[at] as TokenCount]
          counter.stored = sum.issued
          counter.issued -= change.issued
          counter.refused -= change.refused
          if (counter.lastTokenAt === changes[at]?.lastTokenAt) counter.lastTokenAt = null
          tellOf(counter, change, sum, tell)
        }
      })
    } finally {
      forget(hourOf(now))
    }
  }

  /** What is not stored is kept for one more hour. */
  function forget(hour: number): void {
    past = past.filter((counter) => isFresh(counter) && counter.hour >= hour - 1)
    for (const [key, counter] of counters) {
      if (counter.hour !== hour && !isFresh(counter)) counters.delete(key)
    }
  }

  return { find, open, count, flush }
}

/** Whether there is anything in it that the store does not have. */
function isFresh({ issued, refused, lastTokenAt }: TokenCounter): boolean {
  return issued !== 0 || refused !== 0 || lastTokenAt !== null
}

/** Only the process whose change took a sum beyond its limit tells of it. */
function tellOf({ clientId, hour }: TokenCounter, change: TokenCount, sum: TokenCount, tell: Observer): void {
  const about = { clientId, hour: new Date(hour * HOUR).toISOString() }
  const hasPassed = (limit: number, of: 'issued' | 'refused') => sum[of] > limit && sum[of] - change[of] <= limit
  if (hasPassed(MANY_TOKENS, 'issued')) tell({ type: 'many tokens issued', ...about })
  if (hasPassed(0, 'refused')) tell({ type: 'token quota exceeded', ...about })
}

export type SecretUses = ReturnType<typeof createSecretUses>

/** Remembers when each secret last authenticated its owner, until `flush` hands it to the store. */
export function createSecretUses({ store }: { store: Store }) {
  let uses = new Map<number, number>()

  /** `at`: milliseconds since the epoch. */
  function note(secretId: number, at: number): void {
    uses.set(secretId, at)
  }

  /** Throws StoreUnavailable; the next flush tries again. */
  async function flush(): Promise<void> {
    const taken = uses
    uses = new Map()
    const rows = [...taken].map(([secretId, lastUsedAt]) => ({ secretId, lastUsedAt }))
    try {
      await inSteps(rows, (step) => store.recordSecretUses(step))
    } catch (error) {
      uses = new Map([...taken, ...uses])
      throw error
    }
  }

  return { note, flush }
}
