import type { Application, ApplicationKey } from '../domain/application.ts'
import type { Observer } from '../domain/events.ts'
import { drain, inSteps } from '../domain/in-steps.ts'
import { RequestRefused } from '../domain/refusal.ts'
import type { Store } from '../domain/store.ts'
import { timestamp } from '../domain/time.ts'
import { countKey, HOUR, hourOf, MANY_TOKENS, type SecretUse, type TokenCount, type TokenUse } from '../domain/usage.ts'

/** The tokens of one application in one hour, as this process has counted them since the store was last read. */
type TokenCounter = { -readonly [Field in keyof TokenUse]: TokenUse[Field] } & {
  clientId: string
  /** How many tokens all processes had issued in that hour when the store was last read. */
  stored: number
}

/** The quota of applications that have none of their own. */
export interface TokenQuota {
  /** How many tokens each may get in a clock hour. */
  tokens: number
  /** Whether more of them are only reported. */
  isReportOnly: boolean
}

interface CountOptions {
  store: Store
  tokenQuota?: TokenQuota | undefined
}

const NO_QUOTA: TokenQuota = { tokens: Infinity, isReportOnly: false }

export type TokenCounts = ReturnType<typeof createTokenCounts>

/**
 * Counts the tokens of each application and hour, and limits applications to their quota, by default `tokenQuota`. `flush` hands
 * the counts to the store and reads those of other processes: together they may exceed a quota by what they issue between two
 * flushes.
 */
export function createTokenCounts({ store, tokenQuota = NO_QUOTA }: CountOptions) {
  const counters = new Map<ApplicationKey, TokenCounter>()
  /** Counters of past hours that are not stored yet. */
  const past = new Map<string, TokenCounter>()

  /** The counter of an application, if it is open. */
  function find(key: ApplicationKey, at: number): TokenCounter | undefined {
    const counter = counters.get(key)
    return counter?.hour === hourOf(at) ? counter : undefined
  }

  /** Opens the counter of an application for an hour. Throws StoreUnavailable. */
  async function open(application: Application, at: number): Promise<TokenCounter> {
    const { key, clientId } = application
    const hour = hourOf(at)
    const [counted] = quotaOf(application) === Infinity ? [] : await store.listTokenCounts([key], hour)
    const stored = counted?.issued ?? 0
    const known = find(key, at)
    if (known) return known
    const before = counters.get(key)
    if (before && isUnstored(before)) past.set(countKey(before), before)
    const fresh = { applicationKey: key, clientId, hour, stored, issued: 0, refused: 0, lastTokenAt: null }
    // If the clock is set back, an hour may come again. It then keeps its count and quota.
    const counter = past.get(countKey(fresh)) ?? fresh
    past.delete(countKey(counter))
    counters.set(key, counter)
    return counter
  }

  const quotaOf = ({ quota }: Application) => quota ?? tokenQuota.tokens

  const isUsedUp = ({ stored, issued }: TokenCounter, application: Application) =>
    stored + issued >= quotaOf(application)

  const refuses = (counter: TokenCounter, application: Application) =>
    isUsedUp(counter, application) && !isReportOnly(application, tokenQuota)

  /**
   * Counts a token that is about to be issued. Throws RequestRefused if the quota is used up; returns true if that is only
   * reported.
   */
  function count(counter: TokenCounter, application: Application, at: number): boolean {
    const isOver = isUsedUp(counter, application)
    if (isOver && !isReportOnly(application, tokenQuota)) throw refusal(counter, at)
    counter.issued++
    return isOver
  }

  /**
   * Hands the counts to the store, and forgets counters of past hours. Reports many tokens and exceeded quotas, once per
   * application and hour. Throws StoreUnavailable; the next flush tries again.
   */
  async function flush(now: number, observe: Observer): Promise<void> {
    try {
      await inSteps([...past.values(), ...counters.values()].filter(isUnstored), (step) => add(store, step, observe))
    } finally {
      forget(hourOf(now))
    }
  }

  /** Forgets stored counters, and those in `past` that are older than the previous hour. */
  function forget(hour: number): void {
    for (const [key, counter] of past) if (!isUnstored(counter) || counter.hour < hour - 1) past.delete(key)
    for (const [key, counter] of counters) {
      if (counter.hour !== hour && !isUnstored(counter)) counters.delete(key)
    }
  }

  return { find, open, refuses, count, flush }
}

const isReportOnly = ({ quota, reportOnly }: Application, { isReportOnly }: TokenQuota) =>
  reportOnly.includes('quota') || (quota === null && isReportOnly)

/** Counts and returns the refusal of a token. */
function refusal(counter: TokenCounter, at: number): RequestRefused {
  counter.refused++
  const { hour, clientId } = counter
  const retryAfter = Math.ceil(((hour + 1) * HOUR - at) / 1000)
  return new RequestRefused('token quota exceeded', { retryAfter, clientId })
}

async function add(store: Store, counters: TokenCounter[], observe: Observer): Promise<void> {
  const changes = counters.map((counter) => ({ ...counter }))
  const sums = await store.addTokenCounts(changes)
  for (const [at, counter] of counters.entries()) {
    const [change, sum] = [changes[at] as TokenCounter, sums[at] as TokenCount]
    subtract(counter, change, sum)
    reportExcess(change, sum, observe)
  }
}

/** Subtracts what is stored now from a counter, which may have counted more meanwhile. */
function subtract(counter: TokenCounter, change: TokenCounter, sum: TokenCount): void {
  counter.stored = sum.issued
  counter.issued -= change.issued
  counter.refused -= change.refused
  if (counter.lastTokenAt === change.lastTokenAt) counter.lastTokenAt = null
}

function isUnstored({ issued, refused, lastTokenAt }: TokenCounter): boolean {
  return issued !== 0 || refused !== 0 || lastTokenAt !== null
}

/** Only the process whose change raised a sum above a limit reports it. */
function reportExcess(change: TokenCounter, sum: TokenCount, observe: Observer): void {
  const about = { clientId: change.clientId, hour: timestamp(change.hour * HOUR) }
  const hasPassed = (limit: number, of: 'issued' | 'refused') => sum[of] > limit && sum[of] - change[of] <= limit
  if (hasPassed(MANY_TOKENS, 'issued')) observe({ type: 'many tokens issued', ...about })
  if (hasPassed(0, 'refused')) observe({ type: 'token quota exceeded', ...about })
}

export type SecretUses = ReturnType<typeof createSecretUses>

/** Keeps the last use of each secret until `flush` hands it to the store. */
export function createSecretUses({ store }: { store: Store }) {
  const uses = new Map<number, { -readonly [Field in keyof SecretUse]: SecretUse[Field] }>()

  function note(secretId: number, lastUsedAt: number, lastUsedFrom: SecretUse['lastUsedFrom']): void {
    const use = uses.get(secretId)
    if (!use) return void uses.set(secretId, { secretId, lastUsedAt, lastUsedFrom })
    use.lastUsedAt = lastUsedAt
    use.lastUsedFrom = lastUsedFrom
  }

  function takeAll(): SecretUse[] {
    const taken = [...uses.values()]
    uses.clear()
    return taken
  }

  return {
    note,
    /** Throws StoreUnavailable; the next flush tries again. */
    flush: () =>
      drain(takeAll, store.recordSecretUses, ({ secretId, ...use }) =>
        note(secretId, use.lastUsedAt, use.lastUsedFrom),
      ),
  }
}
