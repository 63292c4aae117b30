import { prefixOf } from '../domain/address.ts'
import { type Budget, createBudgets } from '../domain/budgets.ts'
import type { Event, Observer } from '../domain/events.ts'
import { ownText } from '../domain/text.ts'
import type { Clock } from '../domain/time.ts'

type Refusal = Extract<
  Event,
  { type: 'authentication refused' | 'request refused' | 'token refused' | 'operator refused' }
>

type Failure = Extract<Event, { type: 'request failed' }>

/** Refusals of one type to one address prefix that are reported one by one. */
const ONE_BY_ONE: Budget = { atOnce: 100, interval: 1000 }

/** How long further events are counted until their number is reported. */
const WINDOW_MS = 60_000

/** How many prefixes are counted apart. */
const MAX_PREFIXES = 1024
const OTHERS = 'others'

/** How many failures are told apart; further ones by their reason only. */
const MAX_KINDS = 64

interface Repeated {
  reason: Failure['reason']
  message: string
  count: number
  /** Whether it came in this window for the first time. */
  isNew: boolean
}

/**
 * Passes on every event but those that could flood the log, of which it reports once in a window how many there were:
 *
 * - Refusals to an address prefix that gets very many, and all throttled ones, if they are limited. Refused tokens of an
 *   application are always passed on.
 * - Failures of requests that repeat: on a full disk each request fails, and the stack of each would fill what is left. The
 *   first one of a kind is passed on; a window without any ends that.
 */
export function createFloods(observe: Observer, { monotonic, limitRefusals = true, window = WINDOW_MS }: FloodOptions) {
  const budgets = createBudgets(monotonic)
  const refusals = new Map<string, { count: number; throttled: number }>()
  const failures = new Map<string, Repeated>()
  let since = 0
  let timer: NodeJS.Timeout | undefined

  function addRefusal(refusal: Refusal): void {
    const prefix = prefixOf(refusal.remoteAddress)
    const isThrottled = refusal.reason === 'too many failures'
    if (!isThrottled && budgets.spend(`${refusal.type} ${prefix}`, ONE_BY_ONE) === 0) {
      observe(refusal)
      return
    }
    if (refusals.size === 0) since = monotonic()
    const key = refusals.has(prefix) || refusals.size < MAX_PREFIXES ? prefix : OTHERS
    const { count, throttled } = refusals.get(key) ?? { count: 0, throttled: 0 }
    refusals.set(ownText(key), { count: count + 1, throttled: throttled + (isThrottled ? 1 : 0) })
    beginWindow()
  }

  function addFailure(failure: Failure): void {
    const { reason, err } = failure
    const message = err instanceof Error ? err.message : String(err)
    const kind = `${reason}: ${message}`
    const known = failures.get(kind) ?? failures.get(reason)
    if (known) known.count++
    else {
      failures.set(failures.size < MAX_KINDS ? kind : reason, { reason, message, count: 0, isNew: true })
      observe(failure)
    }
    beginWindow()
  }

  function beginWindow(): void {
    timer ??= setTimeout(endWindow, window).unref()
  }

  function endWindow(): void {
    for (const [kind, failure] of failures) {
      if (failure.count === 0 && !failure.isNew) failures.delete(kind)
      failure.isNew = false
    }
    sayAll()
    if (failures.size > 0) beginWindow()
  }

  /** Reports what was counted and not reported yet. */
  function sayAll(): void {
    clearTimeout(timer)
    timer = undefined
    const seconds = Math.round((monotonic() - since) / 1000)
    for (const [prefix, numbers] of refusals) observe({ type: 'refusals not logged', prefix, ...numbers, seconds })
    refusals.clear()
    for (const failure of failures.values()) {
      const { reason, message, count } = failure
      failure.count = 0
      if (count > 0) observe({ type: 'request failures repeated', reason, message, count })
    }
  }

  return {
    observe(event: Event): void {
      if (event.type === 'request failed') addFailure(event)
      else if (limitRefusals && isRefusal(event)) addRefusal(event)
      else observe(event)
    },
    sayAll,
  }
}

interface FloodOptions {
  monotonic: Clock
  limitRefusals?: boolean
  /** Milliseconds. */
  window?: number
}

function isRefusal(event: Event): event is Refusal {
  const { type } = event
  if (type === 'token refused') return event.clientId === undefined
  return type === 'authentication refused' || type === 'request refused' || type === 'operator refused'
}
