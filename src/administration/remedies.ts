import { isSource } from '../domain/application.ts'
import { isReported, isTokenReason, type Reason } from '../domain/reasons.ts'
import type { RefusalCount } from '../domain/refusal.ts'
import { enumerated } from '../domain/text.ts'
import { ago, timestamp } from '../domain/time.ts'
import { DAY, HOUR, hourOf } from '../domain/usage.ts'
import type { ShownApplication } from './applications.ts'
import type { Authors, Made } from './audit-trail.ts'
import type { ListedSecret } from './secrets.ts'

export interface Findings {
  /** The client id of the application, or the id of the suite. */
  clientId: string
  secrets: readonly ListedSecret[]
  authors: Authors
  /** Newest first. */
  refusals: readonly RefusalCount[]
  /** Refusals of unregistered client ids that look like this one, newest first. */
  similarRefusals: readonly RefusalCount[]
  now: number
  instructions: Instructions
}

export interface ApplicationFindings extends Findings {
  application: ShownApplication
  /** Whether there is any suite: without one, checks name no suite. */
  hasSuites: boolean
}

/** How a diagnosis words its remedies: as commands, as API calls, or as controls on a page. */
export interface Instructions {
  resume(clientId: string): string
  /** `field` of an application, by its name in JSON; `option`: what a command would set. */
  edit(clientId: string, field: 'quota' | 'source_addresses', option: string): string
  /** `owner`: the client id of an application or the id of a suite. `isAtOnce`: without an overlap. */
  rotate(owner: string, isAtOnce?: boolean): string
  /** An empty list of suites leaves the choice to the reader. */
  approve(clientId: string, suites: readonly string[]): string
  readonly list: string
  /** Introduces the diagnosis of a suite to readers who may have meant an application. */
  ofSuite(suiteId: string, diagnosis: string, options?: { isWell: boolean }): string
}

export const COMMANDS: Instructions = {
  resume: (clientId) => `"applications resume ${clientId}"`,
  edit: (clientId, _, option) => `"applications update ${clientId} ${option}"`,
  rotate: (owner, isAtOnce = false) => `"secrets rotate ${owner}${isAtOnce ? ' --overlap 0' : ''}"`,
  approve: (clientId, suites) => {
    const options = suites.map((suite) => `--suite ${suite}`).join(' ')
    return `"applications approve ${clientId} ${options || '--suite ID'}"`
  },
  list: '"applications list"',
  ofSuite: aboutSuite('"applications register"'),
}

/** `register`: how to register an application. */
export function aboutSuite(register: string): Instructions['ofSuite'] {
  return (suiteId, diagnosis, { isWell } = { isWell: false }) => {
    const isSuite = `${suiteId} is a suite: it checks tokens, and cannot get any. ${diagnosis}`
    if (!isWell) return isSuite
    return `${isSuite} To get tokens, use the credentials of an application: ${register}.`
  }
}

/** Refusals for one reason, at all endpoints, from all addresses. */
export type RefusalGroup = ReturnType<typeof groupsOf>[number]

/** Groups refusals (newest first) by reason: newest group first, except `too many failures`, a mere consequence, last. */
export function groupsOf(refusals: readonly RefusalCount[]) {
  const rank = ({ reason }: { reason: string }) => Number(reason === 'too many failures')
  return [...Map.groupBy(refusals, ({ reason }) => reason)]
    .map(([reason, rows]) => {
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
    })
    .sort((one, other) => rank(one) - rank(other) || other.lastAt - one.lastAt)
}

/** Refusals this recent may continue despite a later success, because another instance may cause them. */
export const RECENT_MS = 10 * 60_000

const NOT_APPROVED = ['application not approved', 'resource not approved']

/** Whether the cause seems to be gone: it cannot occur any more, or the application got a token since. */
export function isOver(group: RefusalGroup, { application, now }: ApplicationFindings): boolean {
  const { reason, lastAt, suites } = group
  if (reason === 'suspended application') return application.status === 'active'
  if (NOT_APPROVED.includes(reason)) return [...suites].every((suite) => application.suites.includes(suite))
  const isOld = lastAt < now - DAY
  const isReportOnly = application.reportOnly.includes('source_addresses')
  if (reason === 'address not allowed') return isOld || isReportOnly || elsewhere(application, group).length === 0
  if (reason === 'address not allowed (report only)') return !isReportOnly || elsewhere(application, group).length === 0
  if (reason === 'token quota exceeded (report only)') return isOld
  if (!hasTokenSince(group, application)) return false
  return isTokenReason(reason) || lastAt < now - RECENT_MS
}

/** Whether the application got a token after these refusals: then only another instance of it can still be misconfigured. */
export function isBeforeToken(group: RefusalGroup, application: ShownApplication): boolean {
  // What gets tokens from a source address says nothing about what has the secret elsewhere.
  if (group.reason === 'address not allowed') return false
  return !isTokenReason(group.reason) && hasTokenSince(group, application)
}

/** The addresses in a group that are not source addresses of the application. */
function elsewhere(application: ShownApplication, { addresses }: RefusalGroup): string[] {
  return [...addresses].filter((address) => !isSource(application, address))
}

export function hasTokenSince({ lastAt }: RefusalGroup, { lastTokenAt }: ShownApplication): boolean {
  return lastTokenAt !== undefined && lastTokenAt > lastAt
}

/** `One of its requests was refused 3 min ago, from 192.0.2.1`, or `Its tokens are refused, 17 times, …`. */
export function refusalText(group: RefusalGroup, now: number, how = ''): string {
  const [one, many] = wordsOf(group.reason)
  if (group.count > 1) return `${many}${how}, ${howOften(group, now)}.`
  return `${one}${how} ${ago(group.lastAt, now)}, ${fromWhere(group)}.`
}

function wordsOf(reason: string): [one: string, many: string] {
  if (isReported(reason)) return ['One of its requests would have been refused', 'Its requests would be refused']
  if (isTokenReason(reason)) return ['One of its tokens was refused', 'Its tokens are refused']
  return ['One of its requests was refused', 'Its requests are refused']
}

/** `17 times, first 2 h ago, last 3 min ago, from 192.0.2.1`. */
export function howOften(group: RefusalGroup, now: number): string {
  const { count, firstAt, lastAt } = group
  if (count === 1) return `once, ${ago(lastAt, now)}, ${fromWhere(group)}`
  return `${count.toLocaleString('en')} times, first ${ago(firstAt, now)}, last ${ago(lastAt, now)}, ${fromWhere(group)}`
}

function fromWhere({ addresses }: RefusalGroup): string {
  return addresses.size === 1 ? `from ${[...addresses][0]}` : `from ${addresses.size} addresses`
}

const DELAY_NOTE = 'uses of secrets show up within a minute'

type Remedy<Known extends Findings> = (findings: Known, group: RefusalGroup) => string

/** Why an application is refused, and what to do, in a sentence or two. */
export function remedyOf(group: RefusalGroup, findings: ApplicationFindings): string {
  const remedy = REMEDIES[group.reason as Reason]
  return remedy ? remedy(findings, group) : remedyOfSuite(group, findings)
}

/** The same for a suite, which is refused only for reasons that apply to any authenticated request. */
export function remedyOfSuite(group: RefusalGroup, findings: Findings): string {
  return (SECRET_REMEDIES[group.reason as Reason] ?? malformed)(findings, group)
}

const SECRET_REMEDIES: Partial<Record<Reason, Remedy<Findings>>> = {
  'wrong secret': wrongSecret,
  'expired secret': (findings) => endedSecret(findings, 'expired'),
  'revoked secret': (findings) => endedSecret(findings, 'revoked'),
}

const REMEDIES: Partial<Record<Reason, Remedy<ApplicationFindings>>> = {
  'federated token not trusted': (_, { last }) => `${ofJwt(last)} It must be the one that the platform signs.`,
  'federated token not valid now': (_, { last }) => `${ofJwt(last)} It must be read anew for each request of a token.`,
  'federated token mismatch': (_, { last }) =>
    `${ofJwt(last)} Correct the rule of the federated credential, or what the platform signs.`,
  'issuer unavailable': (_, { last }) =>
    `${ofJwt(last)} This server must reach the issuer, or its keys must be given with the federated credential.`,
  'not a suite': () => 'It asks for introspection, which only suites may do: it should send its token to the suite.',
  'too many failures': () =>
    'It has sent wrong credentials too often and has to wait, for a minute at most after the last attempt. ' +
    'The right secret is never refused for this.',
  'token quota exceeded': ({ clientId, application: { issuedThisHour, refusedThisHour }, now, instructions }) =>
    'It has used up its quota of tokens for this hour: it should use each token until it expires. ' +
    (refusedThisHour === 0 ? '' : `It asked for ${issuedThisHour + refusedThisHour}, and got ${issuedThisHour}. `) +
    `The next hour begins at ${timestamp((hourOf(now) + 1) * HOUR)}. ${moreTokens(clientId, instructions)}`,
  'token quota exceeded (report only)': ({ clientId, instructions }) =>
    'Its quota of tokens is only reported. Before that changes, it should use each token until it expires. ' +
    moreTokens(clientId, instructions),
  'address not allowed': notAllowed,
  'address not allowed (report only)': (findings, group) =>
    `Its source addresses are only reported. ${notAllowed(findings, group)}`,
  'credentials in a header': () =>
    'It sends its credentials in the Authorization header: they belong in the body, as client_id and client_secret. ' +
    'If it cannot do that, CLIENT_AUTHENTICATION=body,basic allows HTTP Basic.',
  'unsupported grant type': () => 'Its grant_type is wrong: it has to send grant_type=client_credentials.',
  'expired token': ({ application: { lastTokenAt }, now }) =>
    'It uses tokens longer than their 60 minutes: it has to ask for a new one before the old one expires. ' +
    (lastTokenAt === undefined ? '' : `The last one was issued ${ago(lastTokenAt, now)}.`),
  'revoked token': ({ application: { tokensValidFrom }, now }) =>
    (tokensValidFrom === 0
      ? 'It uses a token that it has revoked itself'
      : `It uses a token that was revoked; the last revoke-all was ${ago(tokensValidFrom, now)}`) +
    ': it has to ask for a new one.',
  'token for another suite': () =>
    'It sends a token that is for another suite alone, as it asked for with the field resource: for each suite it needs a ' +
    'token with the URL of that suite, or one without that field.',
  'unknown resource': () =>
    'It asks for a token for a URL that no suite has: the field resource must be the URL of a suite, or be left out.',
  'application not approved': notApproved,
  'resource not approved': notApproved,
}

function notApproved({ application: { clientId, suites }, instructions }: ApplicationFindings, group: RefusalGroup) {
  const missing = [...group.suites].filter((suite) => !suites.includes(suite))
  return `It is not approved for ${missing.join(', ')}. If it should be: ${instructions.approve(clientId, missing)}.`
}

function moreTokens(clientId: string, instructions: Instructions): string {
  return `If it needs more: ${instructions.edit(clientId, 'quota', '--quota N')}.`
}

function notAllowed({ clientId, application, instructions }: ApplicationFindings, group: RefusalGroup): string {
  const others = elsewhere(application, group)
  const option = `--source ${others.length === 1 ? others[0] : 'RANGE'}`
  return (
    `Its secret or JWT is right, but its source addresses do not include ${enumerated(others)}. ` +
    `If it runs there: ${instructions.edit(clientId, 'source_addresses', option)}. ` +
    'If that is your proxy, TRUST_PROXY has to name it. ' +
    'Otherwise somebody else has its secret or JWT. ' +
    `To replace the secret without an overlap: ${instructions.rotate(clientId, true)}.`
  )
}

function ofJwt({ detail }: RefusalCount): string {
  return `The JWT that it sends instead of a secret was refused${detail === undefined ? '' : `: ${detail}`}.`
}

function wrongSecret({ clientId, secrets, now, instructions }: Findings, { lastAt }: RefusalGroup): string {
  const lastUsedAt = lastUse(secrets)
  // An active secret was used after the refusal, so it is not lost.
  const isOver = lastUse(secrets.filter(({ state }) => state === 'active')) > lastAt
  const known =
    lastUsedAt === 0
      ? `The secret that it sends is wrong, and the right one has not been used yet (${DELAY_NOTE}).`
      : `The secret that it ${isOver ? 'sent was' : 'sends is'} wrong; the right one was last used ${ago(lastUsedAt, now)}.`
  const often = 'Often a secret is cut off, quoted, or not percent-encoded in the form.'
  if (isOver) return `${known} ${often}`
  return `${known} ${often} If the secret is lost, use ${instructions.rotate(clientId)} and hand over the new one.`
}

/** When one of the secrets was last used; 0 if never. */
export function lastUse(secrets: readonly ListedSecret[]): number {
  return Math.max(...secrets.map(({ lastUsedAt = 0 }) => lastUsedAt))
}

function endedSecret(findings: Findings, state: 'expired' | 'revoked'): string {
  const { secrets } = findings
  // The one used last, or else the last to end.
  const [used] = secrets
    .filter((secret) => secret.state === state)
    .sort((one, other) => lastUse([other]) - lastUse([one]) || Number(other.endsAt) - Number(one.endsAt))
  // There always is one: without an active secret, the diagnosis says just that.
  const newest = secrets.findLast((secret) => secret.state === 'active') as ListedSecret
  const ofUsed = used ? `(${used.id}) ${howEnded(used, findings)}` : 'is not valid'
  return newerSecret(findings, `The secret that it uses ${ofUsed}`, newest)
}

/** A sentence about an old secret, which begins with `ofOld`, and a newer one. */
export function newerSecret(
  { clientId, now, instructions }: Findings,
  ofOld: string,
  { id, lastUsedAt }: ListedSecret,
): string {
  const rotate = `if it is lost, ${instructions.rotate(clientId)} makes another one.`
  return lastUsedAt === undefined
    ? `${ofOld}: it has a newer one (${id}), which has not been used yet (${DELAY_NOTE}). ` +
        `If the partner does not use that by now, hand it over; ${rotate}`
    : `${ofOld}: the newer one (${id}) was last used ${ago(lastUsedAt, now)}, and all of its instances should use that.`
}

/** `was revoked by anna 3 min ago, at …`, or `ended 3 min ago, at … (set by anna 2 h ago, at …)`. */
export function howEnded({ id, endsAt, revokedAt }: ListedSecret, { authors, now }: Findings): string {
  const author = authors.get(id)
  if (revokedAt !== null) return `was revoked ${author ? byWhom(author, now) : agoAt(revokedAt, now)}`
  return `ended ${agoAt(Number(endsAt), now)}${author ? ` (set ${byWhom(author, now)})` : ''}`
}

/** `by anna 3 min ago, at …`. */
export function byWhom({ by, at }: Made, now: number): string {
  return `by ${by} ${agoAt(at, now)}`
}

function agoAt(time: number, now: number): string {
  return `${ago(time, now)}, at ${timestamp(time)}`
}

function malformed(_: Findings, { reason, last: { requestId, endpoint } }: RefusalGroup): string {
  const log = requestId === undefined ? '' : ` So does the server’s log: search it for ${requestId}.`
  return `Its request to ${endpoint} breaks a rule: ${reason}. The error_description in the answer says more.${log}`
}
