import { peerIn, prefixOf } from '../domain/address.ts'
import { type Budget, createBudgets } from '../domain/budgets.ts'
import type { Event, Observer } from '../domain/events.ts'
import { detachText } from '../domain/text.ts'
import type { Clock } from '../domain/time.ts'
import type { EventOf } from './audit-log.ts'

type Refusal = EventOf<'authentication refused' | 'request refused' | 'token refused' | 'operator refused'>
type Failure = EventOf<'request failed'>

/** How many refusals of one type to one address prefix are logged one by one. */
const ONE_BY_ONE: Budget = { atOnce: 100, interval: 1000 }

/** How long events are counted before their number is reported. */
const WINDOW_MS = 60_000

/** Refusals to further prefixes are counted together. */
const MAX_PREFIXES = 1024
const OTHERS = 'others'

const THROTTLED = 'too many failures'

/** Further kinds of failures are distinguished only by their reason. */
const MAX_KINDS = 64

/**
 * Passes on every event except those that could flood the log; their number is reported once in a window:
 *
 * - Refusals to an address prefix that gets very many, and all throttled requests, if `limitRefusals`. Refused tokens of an
 *   application are always passed on.
 * - Repeated failures of requests: on a full disk every request fails, and their stacks would fill it further. The first
 *   failure of a kind is passed on, and the first one after a window without any.
 *
 * `reportCounts` reports the numbers now, instead of at the end of the window.
 */
export function createFloods(
  observe: Observer,
  {
    monotonic,
    limitRefusals = true,
    window = WINDOW_MS,
  }: { monotonic: Clock; limitRefusals?: boolean; window?: number },
) {
  const refusals = createRefusals(observe, monotonic)
  const failures = createFailures(observe)
  let timer: NodeJS.Timeout | undefined

  function beginWindow(): void {
    timer ??= setTimeout(endWindow, window).unref()
  }

  function endWindow(): void {
    failures.endWindow()
    reportCounts()
    if (failures.isOpen()) beginWindow()
  }

  function reportCounts(): void {
    clearTimeout(timer)
    timer = undefined
    refusals.report()
    failures.report()
  }

  return {
    observe(event: Event): void {
      if (event.type === 'request failed') failures.add(event)
      else if (limitRefusals && isRefusal(event) && !refusals.isPassed(event)) refusals.add(event)
      else {
        observe(event)
        return
      }
      beginWindow()
    },
    reportCounts,
  }
}

/** Counts refusals by address prefix. */
function createRefusals(observe: Observer, monotonic: Clock) {
  const budgets = createBudgets(monotonic)
  const refusals = new Map<string, { count: number; throttled: number }>()
  let since = 0

  return {
    /** Whether a refusal is logged instead of counted. */
    isPassed({ type, reason, remoteAddress }: Refusal): boolean {
      return reason !== THROTTLED && budgets.spend(`${type} ${prefixOf(peerIn(remoteAddress))}`, ONE_BY_ONE) === 0
    },

    add({ reason, remoteAddress }: Refusal): void {
      if (refusals.size === 0) since = monotonic()
      const prefix = prefixOf(peerIn(remoteAddress))
      const key = refusals.has(prefix) || refusals.size < MAX_PREFIXES ? prefix : OTHERS
      const counts = refusals.get(key) ?? { count: 0, throttled: 0 }
      counts.count++
      if (reason === THROTTLED) counts.throttled++
      refusals.set(detachText(key), counts)
    },

    report(): void {
      const seconds = Math.round((monotonic() - since) / 1000)
      for (const [prefix, counts] of refusals) observe({ type: 'refusals not logged', prefix, ...counts, seconds })
      refusals.clear()
    },
  }
}

/** Passes on the first failure of each kind, and counts the others. */
function createFailures(observe: Observer) {
  const failures = new Map<string, { reason: Failure['reason']; message: string; count: number; isNew: boolean }>()

  return {
    add(failure: Failure): void {
      const { reason, err } = failure
      const message = err instanceof Error ? err.message : String(err)
      const kind = `${reason}: ${message}`
      const known = failures.get(kind) ?? failures.get(reason)
      if (known) {
        known.count++
        return
      }
      failures.set(failures.size < MAX_KINDS ? kind : reason, { reason, message, count: 0, isNew: true })
      observe(failure)
    },

    /** Forgets the kinds of which there was none in this window. */
    endWindow(): void {
      for (const [kind, failure] of failures) {
        if (failure.count === 0 && !failure.isNew) failures.delete(kind)
        failure.isNew = false
      }
    },

    isOpen: () => failures.size > 0,

    report(): void {
      for (const failure of failures.values()) {
        const { reason, message, count } = failure
        failure.count = 0
        if (count > 0) observe({ type: 'request failures repeated', reason, message, count })
      }
    },
  }
}

function isRefusal(event: Event): event is Refusal {
  const { type } = event
  if (type === 'token refused') return event.clientId === undefined
  return type === 'authentication refused' || type === 'request refused' || type === 'operator refused'
}
