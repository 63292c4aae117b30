import { USAGE_INTERVAL_MS } from '../domain/usage.ts'
import { timestamp } from './views.ts'

/** Why tokens and uses of secrets of the last minute are not said. */
export const LATE = 'tokens and uses of secrets are known after a minute'

/** The time of day until which tokens and uses of secrets are known: `02:56:43Z`. */
export function knownUntil(now: number): string {
  return `${timestamp(now - USAGE_INTERVAL_MS).slice(11, 19)}Z`
}
