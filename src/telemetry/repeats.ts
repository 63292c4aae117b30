import type { Event, Observer } from '../domain/events.ts'

type Failure = Extract<Event, { type: 'request failed' }>

/** How long a failure is counted after it was said. */
const WINDOW_MS = 60_000

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
export function createRepeats(observe: Observer, { window = WINDOW_MS } = {}) {
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
