import type { Event } from '../../src/domain/events.ts'
import { LINES } from '../../src/telemetry/audit-log.ts'

/** The events that are not only counted. */
export function logged(events: readonly Event[]): Event[] {
  return events.filter(({ type }) => type in LINES)
}
