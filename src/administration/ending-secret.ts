import type { Diagnosis } from './diagnosis.ts'
import type { Owner } from './remedies.ts'
import { timestamp } from './views.ts'

/** 7 days, as on the overview. */
const SOON_MS = 7 * 24 * 60 * 60 * 1000

/** Adds to a diagnosis that the last active secret ends soon. */
export function withEndingSecret(found: Diagnosis, { clientId, secrets, now, instructions }: Owner): Diagnosis {
  const active = secrets.filter(({ state }) => state === 'active')
  const [last] = active.toSorted((one, other) => endOf(other) - endOf(one))
  if (!last || endOf(last) > now + SOON_MS) return found
  const line =
    `Its last secret (${last.id}) ends at ${timestamp(endOf(last))}. After that, all its requests are refused. ` +
    `${instructions.rotate(clientId)} makes a new one: hand it over before that.`
  return { ...found, health: found.health === 'well' ? 'doubtful' : found.health, lines: [...found.lines, line] }
}

function endOf({ endsAt }: Owner['secrets'][number]): number {
  return endsAt ?? Number.POSITIVE_INFINITY
}
