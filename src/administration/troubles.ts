import type { RefusalCount } from '../domain/refusal.ts'
import { ago } from './age.ts'
import type { ApplicationInTrouble } from './findings.ts'

/** Refusals for one reason: the rows of all endpoints, suites and addresses. */
export interface Trouble {
  reason: string
  count: number
  /** Milliseconds since the epoch. */
  firstAt: number
  lastAt: number
  addresses: ReadonlySet<string>
  suites: ReadonlySet<string>
  /** The row of the last one. */
  last: RefusalCount
}

/** Where tokens are used, and not asked for. */
const TOKEN_REASONS = new Set(['expired token', 'revoked token', 'application not approved'])

/** What follows from another one, which is the one to mend. */
const CONSEQUENCES = new Set(['too many failures'])

/** Groups refusals (newest first) by reason. Newest group first, but mere consequences of another reason come last. */
export function troublesOf(refusals: readonly RefusalCount[]): Trouble[] {
  const byReason = Map.groupBy(refusals, ({ reason }) => reason)
  return [...byReason].map(toTrouble).sort((one, other) => rank(one) - rank(other) || other.lastAt - one.lastAt)
}

function toTrouble([reason, rows]: [string, RefusalCount[]]): Trouble {
  const last = rows[0] as RefusalCount
  return {
    reason,
    count: rows.reduce((sum, { count }) => sum + count, 0),
    firstAt: Math.min(...rows.map(({ firstAt }) => firstAt)),
    lastAt: last.lastAt,
    addresses: new Set(rows.map(({ remoteAddress }) => remoteAddress)),
    suites: new Set(rows.flatMap(({ suite }) => suite ?? [])),
    last,
  }
}

function rank({ reason }: Trouble): number {
  return CONSEQUENCES.has(reason) ? 1 : 0
}

function isOfTokens(reason: string): boolean {
  return TOKEN_REASONS.has(reason)
}

/** How long a trouble may be the present one though there was success since: other instances may have it. */
export const RECENT_MS = 10 * 60_000

/** Whether a trouble seems to be over: it cannot happen any more, or the application has got a token since. */
export function isOver(trouble: Trouble, application: ApplicationInTrouble, now: number): boolean {
  const { reason, lastAt, suites } = trouble
  if (reason === 'suspended application') return application.status === 'active'
  if (reason === 'application not approved') return [...suites].every((suite) => application.suites.includes(suite))
  if (!hasTokenSince(trouble, application)) return false
  return isOfTokens(reason) || lastAt < now - RECENT_MS
}

/** Whether it got a token after its requests were refused: what is still wrong then is another instance. */
export function isBeforeToken(trouble: Trouble, application: ApplicationInTrouble): boolean {
  return !isOfTokens(trouble.reason) && hasTokenSince(trouble, application)
}

export function hasTokenSince({ lastAt }: Trouble, { lastTokenAt }: ApplicationInTrouble): boolean {
  return lastTokenAt !== undefined && lastTokenAt > lastAt
}

/** `One of its requests was refused 3 min ago, from 192.0.2.1`, or `Its tokens are refused, 17 times, …`. `how`: as in ` with 429`. */
export function refusalText(trouble: Trouble, now: number, how = ''): string {
  const what = isOfTokens(trouble.reason) ? 'tokens' : 'requests'
  if (trouble.count > 1) return `Its ${what} are refused${how}, ${howOften(trouble, now)}.`
  return `One of its ${what} was refused${how} ${ago(trouble.lastAt, now)}, ${fromWhere(trouble)}.`
}

/** `17 times, first 2 h ago, last 3 min ago, from 192.0.2.1`. */
export function howOften(trouble: Trouble, now: number): string {
  const { count, firstAt, lastAt } = trouble
  if (count === 1) return `once, ${ago(lastAt, now)}, ${fromWhere(trouble)}`
  return `${count} times, first ${ago(firstAt, now)}, last ${ago(lastAt, now)}, ${fromWhere(trouble)}`
}

function fromWhere({ addresses }: Trouble): string {
  return addresses.size === 1 ? `from ${[...addresses][0]}` : `from ${addresses.size} addresses`
}
