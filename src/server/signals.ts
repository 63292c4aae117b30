import { setTimeout as sleep } from 'node:timers/promises'
import { endProcess, untilFilesRest } from './end-process.ts'
import type { Telemetry } from './telemetry.ts'

/** How long requests in flight may take after a signal. */
export const CLOSE_TIMEOUT_MS = 10_000

/** How long the last line may take where the end is cut short. */
const LAST_LINE_MS = 100

/** Within this the same signal again is the same wish: npm hands on the Ctrl-C that the terminal has sent to all. */
const SAME_WISH_MS = 1000

/** The signals that an operator sends. */
export type OperatorSignal = 'SIGINT' | 'SIGTERM' | 'SIGHUP'

interface Options {
  signals?: OperatorSignal[]
  /** How long `close` may take, in milliseconds. */
  timeout?: number
  /** What must not outlive this process where its end is cut short. */
  abandon?: () => void
}

interface Reason {
  signal?: OperatorSignal
  err?: unknown
}

/**
 * Ends the process after `close` when one of the signals comes or an unexpected error; at a second one at once, unless it is
 * the same signal within a second, and when `close` takes too long. Returns `end`, which does so without either, and `release`, after which signals do what they do
 * by default.
 */
export function closeOnSignal(
  { observe, flush }: Telemetry,
  close: (reason: { signal?: OperatorSignal }) => Promise<void>,
  { signals = ['SIGINT', 'SIGTERM', 'SIGHUP'], timeout = CLOSE_TIMEOUT_MS, abandon = () => {} }: Options = {},
): { end: () => void; release: () => void } {
  let isEnding = false
  let isClosed = false
  let first: { signal: NodeJS.Signals; at: number } | undefined

  async function end({ signal, err }: Reason): Promise<void> {
    if (err !== undefined) observe({ type: 'unexpected error', err })
    try {
      if (isEnding) throw new Error('The end was asked for a second time.')
      isEnding = true
      await Promise.race([finish(signal ? { signal } : {}), expire()])
      endProcess(err === undefined ? 0 : 1)
    } catch (cause) {
      observe({ type: 'shutdown cut short', err: cause })
      abandon()
      await Promise.race([flush().then(untilFilesRest), sleep(LAST_LINE_MS)])
      endProcess(1)
    }
  }

  async function finish(reason: { signal?: OperatorSignal }): Promise<void> {
    await close(reason)
    isClosed = true
    await flush()
    await untilFilesRest()
  }

  async function expire(): Promise<void> {
    await sleep(timeout)
    throw new Error(`The work in progress did not end within ${timeout / 1000} seconds.`)
  }

  const onSignal = (signal: NodeJS.Signals) => {
    const at = performance.now()
    if (isClosed || (signal === first?.signal && at - first.at < SAME_WISH_MS)) return
    first ??= { signal, at }
    void end({ signal: signal as OperatorSignal })
  }
  const onError = (err: unknown) => void end({ err })
  for (const signal of signals) process.on(signal, onSignal)
  process.on('uncaughtException', onError)
  return {
    end: () => void end({}),
    release() {
      for (const signal of signals) process.off(signal, onSignal)
      process.off('uncaughtException', onError)
    },
  }
}
