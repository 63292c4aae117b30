import type { Event, Observer } from '../domain/events.ts'
import { detachText } from '../domain/text.ts'
import type { Clock } from '../domain/time.ts'
import { type Budget, createBudgets } from '../limits/budgets.ts'
import { peerIn, prefixOf } from '../web/address.ts'
import type { EventOf } from './audit-log.ts'

type Refusal = EventOf<'authentication refused' | 'request refused' | 'token refused' | 'operator refused'>
type Failure = EventOf<'request failed'>

/** How many refusals of one type to one address prefix are logged one by one. */
const ONE_BY_ONE: Budget = { atOnce: 100, interval: 1000 }

/** How long events are counted before their number is reported. */
const WINDOW_MS = 60_000

/** Refusals to all prefixes beyond this number are counted together. */
const MAX_PREFIXES = 1024
const OTHERS = 'others'

/** Failures of all kinds beyond this number are distinguished only by their reason. */
const MAX_KINDS = 64

interface Options {
  monotonic: Clock
  limitRefusals?: boolean
  window?: number
}

/**
 * Passes on every event except those that could flood the log; their number is reported once in a window:
 *
 * - With `limitRefusals`, refusals to an address prefix that gets very many, and all throttled requests. Refused tokens of an
 *   application are always passed on.
 * - Repeated failures of requests: on a full disk every request fails, and logging every stack would fill it further. The first
 *   failure of a kind is passed on, and the first one after a window without any.
 *
 * `reportCounts` reports the numbers now, instead of at the end of the window.
 */
export function createFloods(observe: Observer, { monotonic, limitRefusals = true, window = WINDOW_MS }: Options) {
  const budgets = createBudgets(monotonic)
  const refusals = new Map<string, { count: number; throttled: number }>()
  const failures = new Map<string, { reason: Failure['reason']; message: string; count: number; isNew: boolean }>()
  let since = 0
  let timer: NodeJS.Timeout | undefined

  function addRefusal(refusal: Refusal): void {
    const prefix = prefixOf(peerIn(refusal.remoteAddress))
    const isThrottled = refusal.reason === 'too many failures'
    if (!isThrottled && budgets.spend(`${refusal.type} ${prefix}`, ONE_BY_ONE) === 0) {
      observe(refusal)
      return
    }
    if (refusals.size === 0) since = monotonic()
    const key = refusals.has(prefix) || refusals.size < MAX_PREFIXES ? prefix : OTHERS
    const { count, throttled } = refusals.get(key) ?? { count: 0, throttled: 0 }
    refusals.set(detachText(key), { count: count + 1, throttled: throttled + Number(isThrottled) })
    beginWindow()
  }

  function addFailure(failure: Failure): void {
    beginWindow()
    const { reason, err } = failure
    const message = err instanceof Error ? err.message : String(err)
    const kind = `${reason}: ${message}`
    const known = failures.get(kind) ?? failures.get(reason)
    if (known) known.count++
    else {
      failures.set(failures.size < MAX_KINDS ? kind : reason, { reason, message, count: 0, isNew: true })
      observe(failure)
    }
  }

  function beginWindow(): void {
    timer ??= setTimeout(endWindow, window).unref()
  }

  function endWindow(): void {
    for (const [kind, failure] of failures) {
      if (failure.count === 0 && !failure.isNew) failures.delete(kind)
      failure.isNew = false
    }
    reportCounts()
    if (failures.size > 0) beginWindow()
  }

  function reportCounts(): void {
    clearTimeout(timer)
    timer = undefined
    const seconds = Math.round((monotonic() - since) / 1000)
    for (const [prefix, counts] of refusals) observe({ type: 'refusals not logged', prefix, ...counts, seconds })
    refusals.clear()
    for (const failure of failures.values()) {
      const { count, reason, message } = failure
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
    reportCounts,
  }
}

function isRefusal(event: Event): event is Refusal {
  const { type } = event
  if (type === 'token refused') return event.clientId === undefined
  return type === 'authentication refused' || type === 'request refused' || type === 'operator refused'
}
