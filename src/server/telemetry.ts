import type { Config } from '../config.ts'
import type { Observer } from '../domain/events.ts'
import { createAuditLog } from '../telemetry/audit-log.ts'
import { createFloods } from '../telemetry/floods.ts'
import { createLog, flushLog, type LogOptions } from '../telemetry/log.ts'

/** What the running server says what happens to. */
export interface Telemetry {
  observe: Observer
  /** Resolves when all that was logged is written, or could not be. */
  flush: () => Promise<void>
}

interface TelemetryOptions extends LogOptions {
  /** Whether very many refusals to one address are counted and not said one by one. */
  limitRefusals?: boolean
}

/** The server's observers: the audit log. */
export async function createTelemetry(
  level: Config['LOG_LEVEL'],
  { limitRefusals = true, ...options }: TelemetryOptions,
): Promise<Telemetry> {
  const log = await createLog(level, options)
  const auditLog = createAuditLog(log)
  if (!limitRefusals) return { observe: auditLog, flush: () => flushLog(log) }
  const { observe, sayAll } = createFloods(auditLog, { monotonic: () => performance.now() })
  async function flush(): Promise<void> {
    sayAll()
    await flushLog(log)
  }
  return { observe, flush }
}
