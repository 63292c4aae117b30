import type { Config } from '../config.ts'
import type { Observer } from '../domain/events.ts'
import { createAuditLog } from '../telemetry/audit-log.ts'
import { createLog, flushLog, type LogOptions } from '../telemetry/log.ts'

/** What the running server says what happens to. */
export interface Telemetry {
  observe: Observer
  /** Resolves when all that was logged is written, or could not be. */
  flush: () => Promise<void>
}

/** The server's observers: the audit log. */
export async function createTelemetry(level: Config['LOG_LEVEL'], options: LogOptions): Promise<Telemetry> {
  const log = await createLog(level, options)
  return { observe: createAuditLog(log), flush: () => flushLog(log) }
}
