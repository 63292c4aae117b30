import { isOfTokens, type Reason } from '../domain/reasons.ts'
import type { RefusalCount } from '../domain/refusal.ts'
import { timestamp } from '../domain/time.ts'
import { HOUR, hourOf } from '../domain/usage.ts'
import { ago } from './age.ts'
import type { ShownApplication } from './applications.ts'
import type { ListedSecret } from './secrets.ts'

/** An application, and the tokens that it got and did not get in this hour. */
export interface ApplicationInTrouble extends ShownApplication {
  /** In this hour of the clock so far. */
  tokensThisHour: number
  /** In this hour, because they were more than its quota. */
  refusedThisHour: number
}

/** An application or a suite, which authenticates with secrets. */
export interface Owner {
  clientId: string
  secrets: readonly ListedSecret[]
  /** Milliseconds since the epoch. */
  now: number
  instructions: Instructions
}

/** What is known of an application. Newest refusals first; `now` in milliseconds since the epoch. */
export interface Findings {
  application: ApplicationInTrouble
  refusals: readonly RefusalCount[]
  similarRefusals: readonly RefusalCount[]
  /** Whether there is any suite: else tokens are checked without one. */
  hasSuites: boolean
  now: number
  instructions: Instructions
}

/** How a diagnosis words its remedies: as commands, as API calls, or as controls on a page. */
export interface Instructions {
  resume(clientId: string): string
  /** `owner`: the client id of an application or the id of a suite. */
  rotate(owner: string): string
  /** An empty list of suites leaves the choice to the reader. */
  approve(clientId: string, suites: readonly string[]): string
  readonly list: string
  /** The diagnosis of a suite, for a reader who may have meant an application. `isWell`: nothing is wrong with the suite. */
  ofSuite(suiteId: string, said: string, options?: { isWell: boolean }): string
}

export const COMMANDS: Instructions = {
  resume: (clientId) => `"applications resume ${clientId}"`,
  rotate: (owner) => `"secrets rotate ${owner}"`,
  approve: (clientId, suites) => {
    const options = suites.map((suite) => `--suite ${suite}`).join(' ')
    return `"applications approve ${clientId} ${options || '--suite ID'}"`
  },
  list: '"applications list"',
  ofSuite: aboutSuite('"applications register"'),
}

/** `register`: how to register an application. */
export function aboutSuite(register: string): Instructions['ofSuite'] {
  return (suiteId, said, { isWell } = { isWell: false }) => {
    const isSuite = `${suiteId} is a suite: it asks about tokens, and gets none. ${said}`
    if (!isWell) return isSuite
    return `${isSuite} Who needs tokens needs the credentials of an application: ${register}.`
  }
}

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

/** Groups refusals (newest first) by reason. Newest group first, but what follows from another reason comes last. */
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
  return reason === 'too many failures' ? 1 : 0
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

/** Why the most recent uses may be missing. */
const LATE = 'uses of secrets show up after a minute'

/** Why an application is refused, and what to do, in a sentence or two. */
export function remedyOf(trouble: Trouble, findings: Findings): string {
  const remedy = REMEDIES[trouble.reason as Reason]
  const { application, now, instructions } = findings
  return remedy ? remedy(findings, trouble) : remedyOfOwner(trouble, { ...application, now, instructions })
}

/** The same of a suite: of what may be wrong with every request that is authenticated. */
export function remedyOfOwner(trouble: Trouble, owner: Owner): string {
  const remedy = SECRET_REMEDIES[trouble.reason as Reason]
  return remedy ? remedy(owner, trouble) : malformed(trouble)
}

const SECRET_REMEDIES: Partial<Record<Reason, (owner: Owner, trouble: Trouble) => string>> = {
  'wrong secret': wrongSecret,
  'expired secret': (owner) => endedSecret(owner, 'expired'),
  'revoked secret': (owner) => endedSecret(owner, 'revoked'),
}

const REMEDIES: Partial<Record<Reason, (findings: Findings, trouble: Trouble) => string>> = {
  'not a suite': () => 'It asks for introspection, which only suites may do: it should send its token to the suite.',
  'too many failures': () =>
    'It has sent wrong credentials too often and has to wait. This ends within a minute after the last one. ' +
    'The right secret is never refused for this.',
  'token quota exceeded': ({ now }) =>
    'It has got all tokens that it may get in an hour of the clock: it should use a token until it expires. ' +
    `The next hour begins at ${timestamp((hourOf(now) + 1) * HOUR)}.`,
  'credentials in a header': () =>
    'It sends its credentials in the Authorization header: they belong in the body, client_id and client_secret.',
  'unsupported grant type': () => 'Its grant_type is not client_credentials.',
  'expired token': ({ application: { lastTokenAt }, now }) =>
    'It uses tokens for longer than their 60 minutes: it has to ask for a new one before the old one ends. ' +
    (lastTokenAt === undefined ? '' : `The last one was issued ${ago(lastTokenAt, now)}.`),
  'revoked token': ({ application: { tokensValidFrom }, now }) =>
    (tokensValidFrom === 0
      ? 'It uses a token that it has revoked itself'
      : `It uses a token that was revoked; the last revoke-all was ${ago(tokensValidFrom, now)}`) +
    ': it has to ask for a new one.',
  'application not approved': ({ application: { clientId, suites }, instructions }, trouble) => {
    const missing = [...trouble.suites].filter((suite) => !suites.includes(suite))
    return `It is not approved for ${missing.join(', ')}. If it should be: ${instructions.approve(clientId, missing)}.`
  },
}

function wrongSecret({ clientId, secrets, now, instructions }: Owner, { lastAt }: Trouble): string {
  const lastUsedAt = lastUse(secrets)
  const known =
    lastUsedAt === 0
      ? `The secret that it sends is wrong, and the right one was not used yet (${LATE}).`
      : `The secret that it sends is wrong; the right one was last used ${ago(lastUsedAt, now)}.`
  const often = 'Often a secret is cut off, quoted, or not percent-encoded in the form.'
  // Who has used the present one since has it.
  if (lastUse(secrets.filter(({ state }) => state === 'active')) > lastAt) return `${known} ${often}`
  return `${known} ${often} If the secret is lost, use ${instructions.rotate(clientId)} and hand over the new one.`
}

function lastUse(secrets: readonly ListedSecret[]): number {
  return Math.max(...secrets.map(({ lastUsedAt = 0 }) => lastUsedAt))
}

function endedSecret({ clientId, secrets, now, instructions }: Owner, state: 'expired' | 'revoked'): string {
  const used = lastUsed(secrets.filter((secret) => secret.state === state))
  // Where there is none, that comes first.
  const newest = secrets.findLast((secret) => secret.state === 'active') as ListedSecret
  const ended = used ? endOf(used) : 'The secret that it uses is not valid'
  const rotate = `if it is lost, ${instructions.rotate(clientId)} makes another one.`
  return newest.lastUsedAt === undefined
    ? `${ended}: it has a newer one (${newest.id}), which was not used yet (${LATE}). ` +
        `If the partner does not use that by now, hand it over; ${rotate}`
    : `${ended}: the newer one (${newest.id}) was last used ${ago(newest.lastUsedAt, now)}, so one of its instances has the old one still.`
}

function endOf({ id, endsAt, revokedAt }: ListedSecret): string {
  return revokedAt === null
    ? `The secret that it uses (${id}) ended at ${timestamp(Number(endsAt))}`
    : `An operator revoked the secret that it uses (${id}) at ${timestamp(revokedAt)}`
}

/** The secret that was used last; where none was, the one that ended last. */
function lastUsed(secrets: readonly ListedSecret[]): ListedSecret | undefined {
  const [last] = secrets.toSorted(
    (one, other) => usedAt(other) - usedAt(one) || Number(other.endsAt) - Number(one.endsAt),
  )
  return last
}

function usedAt({ lastUsedAt = 0 }: ListedSecret): number {
  return lastUsedAt
}

/** A request that breaks a rule of the contract. */
function malformed({ reason, last: { requestId, endpoint } }: Trouble): string {
  const log = requestId === undefined ? '' : ` So does the server’s log: search it for ${requestId}.`
  return `Its request to ${endpoint} breaks a rule: ${reason}. The error_description in the answer that it got says more.${log}`
}
