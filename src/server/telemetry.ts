import type { Config } from '../config.ts'
import type { Observer } from '../domain/events.ts'
import { createAuditLog, isDroppable } from '../telemetry/audit-log.ts'
import { createFloods } from '../telemetry/floods.ts'
import { createLineLog, createLog, type LogOptions } from '../telemetry/log.ts'
import type { Dropping } from '../telemetry/log-stream.ts'
import { createEventCounter } from '../telemetry/metrics/count-events.ts'
import { createCounters } from '../telemetry/metrics/counters.ts'

export type Telemetry = ReturnType<typeof createTelemetry>

interface TelemetryOptions extends Omit<LogOptions, keyof Dropping> {
  /** Whether refusals beyond a limit for each address prefix are counted instead of logged. */
  limitRefusals?: boolean
  /** Whether events are counted; by default they are not. */
  counts?: boolean
}

/** Creates the counters and the audit log, which limits floods of events. */
export function createTelemetry(
  level: Config['LOG_LEVEL'],
  { limitRefusals = true, counts = false, ...options }: TelemetryOptions,
) {
  const counters = counts ? createCounters() : undefined
  const measure = counters && createEventCounter(counters)
  const onDropped = (count: number) => measure?.({ type: 'log lines dropped', count })
  const log = createLog(level, { ...options, isDroppable, lineOnDropped, onDropped })
  const floods = createFloods(createAuditLog(log), { monotonic: () => performance.now(), limitRefusals })
  const write = floods.observe
  return {
    observe: measure ? both(measure, write) : write,
    /** Receives the frequent details; undefined if the log's level excludes them. */
    observeDetails: log.isLevelEnabled('debug') ? write : undefined,
    /** Receives events that are only counted; undefined, like the counters, if nothing is counted. */
    measure,
    counters,
    /** Resolves when every line of the log is written or dropped. */
    flush(): Promise<void> {
      floods.reportCounts()
      return new Promise((resolve) => log.flush(() => resolve()))
    },
  }

  /** Formats the line without the log, which has no room for it. */
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
