import { ago } from './age.ts'
import type { Findings } from './diagnosis.ts'
import { howOften, isBeforeToken, refusalText, type Trouble } from './troubles.ts'
import { timestamp } from './views.ts'

/** Reasons that developers know by their HTTP status, 429. */
const TOO_MANY = new Set(['too many failures', 'token quota exceeded'])

export function whatHappens(trouble: Trouble, { application, now }: Findings): string {
  if (isBeforeToken(trouble, application)) return `Before its last token: ${trouble.reason}, ${howOften(trouble, now)}.`
  return refusalText(trouble, now, TOO_MANY.has(trouble.reason) ? ' with 429' : '')
}

/** The text for an application of which nothing is refused now. */
export function nothingHappens({ application: { lastTokenAt }, refusals: [last], now }: Findings): string {
  const refusal = last && `${last.reason}, ${ago(last.lastAt, now)}`
  if (lastTokenAt === undefined) {
    return last
      ? `It has not got a token yet. Its last refusal (${refusal}) is over.`
      : 'Nothing has been asked for with it yet.'
  }
  const issued = `The last token was issued ${ago(lastTokenAt, now)}`
  if (!last) return `${issued}, and nothing was refused.`
  if (lastTokenAt <= last.lastAt) return `${issued}. Its last refusal (${refusal}) is over.`
  return `It works again: it got a token ${ago(lastTokenAt, now)}, at ${timestamp(lastTokenAt)}, after its last refusal (${refusal}).`
}
