import { CLOCK_TOLERANCE } from '../domain/clock.ts'
import type { Inspector } from '../store/inspect.ts'
import { error, type Finding, ok } from './finding.ts'

/** Before this program, and long after it. */
const EARLIEST = Date.UTC(2026, 0)
const LATEST = Date.UTC(2100, 0)

/** Whether the clock of this machine can be right. */
export function examineClock(now: number): Finding[] {
  const time = new Date(now).toISOString()
  if (now >= EARLIEST && now < LATEST) return [ok(`This machine's clock says ${time}.`)]
  return [error(`This machine's clock says ${time}, which cannot be.`, 'Set it by NTP.')]
}

/** Whether the clock agrees with the store's, and with what is in the store. */
export async function examineStoreClock(inspector: Inspector, now: () => number): Promise<Finding[]> {
  const offset = Math.round(await inspector.clockOffset())
  if (Math.abs(offset) > CLOCK_TOLERANCE) {
    const text = `This machine's clock and the database's are ${Math.abs(offset)} ms apart.`
    return [error(text, 'Set both by NTP: until then this node is not ready.')]
  }
  const tokens = await inspector.tokens()
  const ahead = (tokens?.newestAt ?? 0) - now()
  if (ahead <= CLOCK_TOLERANCE) return [ok('No token was issued in the future.')]
  const text = `The newest token was issued ${Math.round(ahead / 1000)} s in the future: a clock was ahead, or was set back.`
  return [error(text, 'Set it by NTP.')]
}
