import { ago } from './age.ts'
import type { Findings } from './diagnosis.ts'
import { knownUntil, LATE } from './known-until.ts'
import { howOften, isBeforeToken, isOfTokens, type Trouble } from './troubles.ts'

/** Where developers read out the status, and not the reason. */
const STATUS: Record<string, string> = { 'too many failures': ' (429)', 'token quota exceeded': ' (429)' }

/** What is refused now, and how often. */
export function whatHappens(trouble: Trouble, findings: Findings): string {
  const { application, now } = findings
  const often = howOften(trouble, now)
  if (isOfTokens(trouble.reason)) return `Its tokens are refused, ${often}.`
  if (!isBeforeToken(trouble, application)) return `Its requests are refused, ${often}.`
  return `${nothingHappens(findings)} Another instance of it may still be wrong, which was refused before that, ${often}.`
}

/** That nothing is refused now. */
export function nothingHappens({ application: { lastTokenAt }, refusals, now }: Findings): string {
  const [last] = refusals
  const refusal = last && `(${last.reason}, ${ago(last.lastAt, now)})`
  const isOver = `, and what it was refused for last ${refusal} is over.`
  if (lastTokenAt === undefined) {
    return `By ${knownUntil(now)} it had got no token (${LATE})${last ? isOver : ', and no refusal of it is known.'}`
  }
  const issued = `Nothing is refused now: the last token was issued ${ago(lastTokenAt, now)}`
  if (!last) return `${issued}.`
  return lastTokenAt > last.lastAt ? `${issued}, after its last refusal ${refusal}.` : `${issued}${isOver}`
}

/** What is wrong, too. */
export function alsoText(others: readonly Trouble[], findings: Findings): string {
  const also = others.map(({ reason, count, lastAt }) => {
    const often = count === 1 ? 'once,' : `${count} times, last`
    return `${reason}${STATUS[reason] ?? ''}, ${often} ${ago(lastAt, findings.now)}`
  })
  if (hasNoSuite(findings)) also.push('it is approved for no suite')
  return also.length > 0 ? ` Also: ${also.join('; ')}.` : ''
}

/** Whether its tokens are valid nowhere. */
export function hasNoSuite({ application, hasSuites }: Findings): boolean {
  return application.suites.length === 0 && hasSuites
}
