import { prefixOf } from '../domain/address.ts'
import { type Budget, createBudgets } from '../domain/budgets.ts'
import type { Event, Observer } from '../domain/events.ts'
import { ownText } from '../domain/text.ts'
import type { Clock } from '../domain/time.ts'

type Refusal = Extract<Event, { type: Refused }>

type Refused = 'authentication refused' | 'request refused' | 'token refused' | 'operator refused'

/** Refusals of one type to one address prefix that are said one by one. */
const ONE_BY_ONE: Budget = { atOnce: 100, interval: 1000 }

/** How long further ones are counted until their number is said. */
const WINDOW_MS = 60_000

/** How many prefixes are counted apart. */
const MAX_PREFIXES = 1024
const OTHERS = 'others'

/**
 * Lets the observer see every event but refusals to an address prefix that gets very many, and those that are refused for
 * their number: of these it sees, once in a window, how many there were. So nobody can flood the log. Refused tokens of an
 * application are always seen.
 */
export function createFloods(
  observe: Observer,
  { monotonic, window = WINDOW_MS }: { monotonic: Clock; window?: number },
) {
  const budgets = createBudgets(monotonic)
  const counts = new Map<string, { count: number; throttled: number }>()
  let since = 0
  let timer: NodeJS.Timeout | undefined

  function add(refusal: Refusal): void {
    const prefix = prefixOf(refusal.remoteAddress)
    const isThrottled = refusal.reason === 'too many failures'
    if (!isThrottled && budgets.spend(`${refusal.type} ${prefix}`, ONE_BY_ONE) === 0) observe(refusal)
    else count(prefix, isThrottled)
  }

  function count(prefix: string, isThrottled: boolean): void {
    if (!timer) {
      since = monotonic()
      timer = setTimeout(sayAll, window).unref()
    }
    const key = counts.has(prefix) || counts.size < MAX_PREFIXES ? prefix : OTHERS
    const { count, throttled } = counts.get(key) ?? { count: 0, throttled: 0 }
    counts.set(ownText(key), { count: count + 1, throttled: throttled + (isThrottled ? 1 : 0) })
  }

  /** Says what was counted and not said yet. */
  function sayAll(): void {
    clearTimeout(timer)
    timer = undefined
    const seconds = Math.round((monotonic() - since) / 1000)
    for (const [prefix, numbers] of counts) observe({ type: 'refusals not logged', prefix, ...numbers, seconds })
    counts.clear()
  }

  return { observe: ((event) => (isRefusal(event) ? add(event) : observe(event))) as Observer, sayAll }
}

function isRefusal(event: Event): event is Refusal {
  const { type } = event
  if (type === 'token refused') return event.clientId === undefined
  return type === 'authentication refused' || type === 'request refused' || type === 'operator refused'
}

type Failure = Extract<Event, { type: 'request failed' }>

/** How long a failure is counted after it was said. */
const REPEATS_WINDOW_MS = 60_000

/** How many failures are told apart; further ones by their reason only. */
const MAX_KINDS = 64

interface Repeated {
  failure: Failure
  message: string
  count: number
  timer: NodeJS.Timeout
}

/**
 * Lets the observer see every event but failures of requests that repeat: on a full disk each request fails, and the stack
 * of each would fill what is left. The first one of a kind is said in full; then, once in a window, how many there were. A
 * window without any ends that.
 */
export function createRepeats(observe: Observer, { window = REPEATS_WINDOW_MS } = {}) {
  const kinds = new Map<string, Repeated>()

  function add(failure: Failure): void {
    const message = messageOf(failure.err)
    const kind = `${failure.reason}: ${message}`
    const known = kinds.get(kind) ?? kinds.get(failure.reason)
    if (known) known.count++
    else {
      const key = kinds.size < MAX_KINDS ? kind : failure.reason
      kinds.set(key, { failure, message, count: 0, timer: setInterval(() => endWindow(key), window).unref() })
      observe(failure)
    }
  }

  function endWindow(key: string): void {
    const repeated = kinds.get(key) as Repeated
    if (!say(repeated)) {
      clearInterval(repeated.timer)
      kinds.delete(key)
    }
  }

  /** Whether there was something to say. */
  function say(repeated: Repeated): boolean {
    const { failure, message, count } = repeated
    if (count === 0) return false
    repeated.count = 0
    observe({ type: 'request failures repeated', reason: failure.reason, message, count })
    return true
  }

  return {
    observe: ((event) => (event.type === 'request failed' ? add(event) : observe(event))) as Observer,
    /** Says what was counted and not said yet. */
    sayAll(): void {
      for (const repeated of kinds.values()) say(repeated)
    },
  }
}

function messageOf(err: unknown): string {
  return err instanceof Error ? err.message : String(err)
}
