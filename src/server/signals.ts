import { setTimeout as sleep } from 'node:timers/promises'
import type { Telemetry } from './telemetry.ts'

/** How long requests in flight may take after a signal. */
export const CLOSE_TIMEOUT_MS = 10_000

/** How long the last line of the log may take if the shutdown is cut short. */
const LAST_LINE_MS = 100

/** A repeated signal is ignored for this long: on Ctrl-C, both the terminal and npm send SIGINT. */
const REPEAT_MS = 1000

export type OperatorSignal = 'SIGINT' | 'SIGTERM' | 'SIGHUP'

interface Options {
  signals?: OperatorSignal[]
  /** How long `close` may take, in milliseconds. */
  timeout?: number
  /** For how long a repeated signal is ignored, in milliseconds. */
  repeat?: number
  /** Ends what must not outlive this process if its shutdown is cut short. */
  abandon?: () => void
}

/**
 * Ends the process after `close` on a signal or an unexpected error. Ends it immediately if `close` takes too long, or on a
 * second signal or error, except for the same signal within a second. Returns `end`, which ends the process in the same way, and
 * `release`, which restores the default behaviour of signals.
 */
export function closeOnSignal(
  { observe, flush }: Telemetry,
  close: (signal: OperatorSignal | undefined) => Promise<void>,
  {
    signals = ['SIGINT', 'SIGTERM', 'SIGHUP'],
    timeout = CLOSE_TIMEOUT_MS,
    repeat = REPEAT_MS,
    abandon = () => {},
  }: Options = {},
): { end: () => void; release: () => void } {
  let isEnding = false
  let isClosed = false
  let first: { signal: NodeJS.Signals; at: number } | undefined

  async function end({ signal, err }: { signal?: OperatorSignal; err?: unknown }): Promise<void> {
    if (err !== undefined) observe({ type: 'unexpected error', err })
    try {
      if (isEnding) throw new Error('The shutdown was requested a second time.')
      isEnding = true
      await Promise.race([finish(signal), expire()])
      endProcess(err === undefined ? 0 : 1)
    } catch (cause) {
      observe({ type: 'shutdown cut short', err: cause })
      abandon()
      await Promise.race([flush().then(waitForFileOperations), sleep(LAST_LINE_MS)])
      endProcess(1)
    }
  }

  async function finish(signal: OperatorSignal | undefined): Promise<void> {
    await close(signal)
    isClosed = true
    await flush()
    await waitForFileOperations()
  }

  async function expire(): Promise<void> {
    await sleep(timeout)
    throw new Error(`The work in progress did not end within ${timeout / 1000} seconds.`)
  }

  const onSignal = (signal: NodeJS.Signals) => {
    const at = performance.now()
    if (isClosed || (signal === first?.signal && at - first.at < repeat)) return
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

const PAUSE_MS = 10

/** Whether file operations are under way: their resources are called FSReqCallback and FSReqPromise. */
function isWaitingForFiles(): boolean {
  return process.getActiveResourcesInfo().some((name) => name.startsWith('FSReq'))
}

export async function waitForFileOperations(): Promise<void> {
  while (isWaitingForFiles()) await sleep(PAUSE_MS)
}

/**
 * Ends this process. An exit waits for file operations, which never end on a disk that hangs; so the process is then killed, and
 * its status is lost.
 */
export function endProcess(status: number, self: Pick<NodeJS.Process, 'pid' | 'kill' | 'exit'> = process): void {
  if (isWaitingForFiles()) self.kill(self.pid, 'SIGKILL')
  else self.exit(status)
}
