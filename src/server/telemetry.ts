import type { Config } from '../config.ts'
import type { Observer } from '../domain/events.ts'
import { createAuditLog, isCheap } from '../telemetry/audit-log.ts'
import { createFloods } from '../telemetry/floods.ts'
import { createLineLog, createLog, flushLog, type LogOptions } from '../telemetry/log.ts'
import { createRepeats } from '../telemetry/repeats.ts'

/** What the running server says what happens to. */
export interface Telemetry {
  observe: Observer
  /** For what happens very often. Undefined where the log has no room for details. */
  observeDetails: Observer | undefined
  /** Resolves when all that was logged is written, or could not be. */
  flush: () => Promise<void>
}

interface TelemetryOptions extends Omit<LogOptions, 'isCheap' | 'lineOnDropped'> {
  /** Whether very many refusals to one address are counted and not said one by one. */
  limitRefusals?: boolean
}

/** The server's observers: the audit log, behind what counts that which comes too often. */
export async function createTelemetry(
  level: Config['LOG_LEVEL'],
  { limitRefusals = true, ...options }: TelemetryOptions,
): Promise<Telemetry> {
  const log = await createLog(level, { ...options, isCheap, lineOnDropped })
  const repeats = createRepeats(createAuditLog(log))
  const floods = createFloods(repeats.observe, { monotonic: () => performance.now() })
  async function flush(): Promise<void> {
    floods.sayAll()
    repeats.sayAll()
    await flushLog(log)
  }
  const observe = limitRefusals ? floods.observe : repeats.observe
  return { observe, observeDetails: log.isLevelEnabled('debug') ? observe : undefined, flush }

  /** Apart from the log, which has no room for it. */
  function lineOnDropped(count: number): string {
    let text = ''
    createAuditLog(createLineLog(level, (line) => (text = line)))({ type: 'log lines dropped', count })
    return text
  }
}
