import type { Config } from '../config.ts'
import type { Observer } from '../domain/events.ts'
import { createAuditLog, isCheap } from '../telemetry/audit-log.ts'
import { createFloods } from '../telemetry/floods.ts'
import { createLineLog, createLog, flushLog, type LogOptions } from '../telemetry/log.ts'
import type { Dropping } from '../telemetry/log-stream.ts'
import { createEventCounter } from '../telemetry/metrics/count-events.ts'
import { createNumbers, type Numbers } from '../telemetry/metrics/numbers.ts'

/** What the running server says what happens to. */
export interface Telemetry {
  observe: Observer
  /** For what happens very often. Undefined where the log has no room for details. */
  observeDetails: Observer | undefined
  /** For what is only counted. Undefined where nothing is. */
  measure: Observer | undefined
  /** What was counted. */
  numbers: Numbers | undefined
  /** Resolves when all that was logged is written, or could not be. */
  flush: () => Promise<void>
}

interface TelemetryOptions extends Omit<LogOptions, keyof Dropping> {
  /** Whether very many refusals to one address are counted and not said one by one. */
  limitRefusals?: boolean
  /** Whether events are counted; they are not by default. */
  counts?: boolean
}

/** The server's observers: the numbers, and the audit log behind what holds back that which comes too often. */
export async function createTelemetry(
  level: Config['LOG_LEVEL'],
  { limitRefusals = true, counts = false, ...options }: TelemetryOptions,
): Promise<Telemetry> {
  const numbers = counts ? createNumbers() : undefined
  const measure = numbers && createEventCounter(numbers)
  const onDropped = (count: number) => measure?.({ type: 'log lines dropped', count })
  const log = await createLog(level, { ...options, isCheap, lineOnDropped, onDropped })
  const { observe: write, sayAll } = createFloods(createAuditLog(log), {
    monotonic: () => performance.now(),
    limitRefusals,
  })
  async function flush(): Promise<void> {
    sayAll()
    await flushLog(log)
  }
  return {
    observe: measure ? both(measure, write) : write,
    observeDetails: log.isLevelEnabled('debug') ? write : undefined,
    measure,
    numbers,
    flush,
  }

  /** Apart from the log, which has no room for it. */
  function lineOnDropped(count: number): string {
    let text = ''
    createAuditLog(createLineLog(level, (line) => (text = line)))({ type: 'log lines dropped', count })
    return text
  }
}

/** Counting comes first: the log may hold an event back. */
function both(measure: Observer, write: Observer): Observer {
  return (event) => {
    measure(event)
    write(event)
  }
}
