import { ABBREVIATED, type ApplicationNames } from '../domain/application.ts'
import { factsOf, isReported } from '../domain/reasons.ts'
import type { RefusalCount } from '../domain/refusal.ts'
import { enumerated, visibleOnOneLine } from '../domain/text.ts'
import { ago, timestamp } from '../domain/time.ts'
import { DAY, MANY_TOKENS } from '../domain/usage.ts'
import type { Removal } from './audit-trail.ts'
import {
  type ApplicationFindings,
  byWhom,
  type Findings,
  groupsOf,
  hasTokenSince,
  howEnded,
  howOften,
  isBeforeToken,
  isOver,
  lastUse,
  newerSecret,
  RECENT_MS,
  type RefusalGroup,
  refusalText,
  remedyOf,
  remedyOfSuite,
} from './remedies.ts'
import { isHeavy } from './search.ts'
import type { ListedSecret } from './secrets.ts'

/** `doubtful` means that no request is being refused, but something may still be wrong. */
export type Health = 'well' | 'doubtful' | 'wrong'

export interface Diagnosis {
  health: Health
  /** One line per likely cause, with its remedy: newest first, but causes from before the last token come last. */
  lines: string[]
  /** The refusals behind the newest cause, if there are any. */
  cause?: RefusalGroup | undefined
  /** What would be refused, if that were not only reported, and the line about each. */
  reported?: readonly (RefusalGroup & { line: string })[]
  /** Where else to look if the partner still sees errors although nothing is refused now. */
  elsewhere?: string
}

/** 7 days, as on the overview. */
const SOON_MS = 7 * DAY

const ELSEWHERE =
  'If the partner still sees errors, its requests may not reach this server (DNS, TLS, a gateway in between), may be answered with 503 ' +
  '("token-server doctor" says why), or may have no client id that can be read, such as JSON instead of a form: search the ' +
  'log by address and time.'

const INSTANCES = 'If it runs in several places, one of them may still be wrong.'

/** What is most likely wrong with an application now, and what to do. */
export function diagnose(findings: ApplicationFindings): Diagnosis {
  const { reported = [], refused = [] } = Object.groupBy(findings.refusals, ({ reason }) =>
    isReported(reason) ? 'reported' : 'refused',
  )
  const found = diagnoseRequests({ ...findings, refusals: refused })
  return withEndingSecret(withManyTokens(withReported(found, reported, findings), findings), findings)
}

function diagnoseRequests(findings: ApplicationFindings): Diagnosis {
  const { clientId, application, authors, refusals, hasSuites, instructions } = findings
  if (application.status === 'suspended') {
    const author = authors.get('status')
    const suspended = author ? `It was suspended ${byWhom(author, findings.now)}` : 'It is suspended'
    const effect = 'it gets no tokens, and those that it has are refused.'
    return { health: 'wrong', lines: [`${suspended}: ${effect} To allow it again: ${instructions.resume(clientId)}.`] }
  }
  const noSecret = withoutSecret(findings)
  if (noSecret) return { health: 'wrong', lines: [noSecret] }
  const groups = groupsOf(refusals).filter((group) => !isOver(group, findings))
  const { now = [], before = [] } = Object.groupBy(groups, (group) =>
    isBeforeToken(group, application) ? 'before' : 'now',
  )
  const causes = [...now, ...before].map((group) => `${whatHappens(group, findings)} ${remedyOf(group, findings)}`)
  if (hasSuites && application.suites.length === 0) {
    const approve = `It is approved for no suite, so its tokens are valid nowhere: ${instructions.approve(clientId, [])}.`
    return { health: 'wrong', lines: [...causes, approve], cause: now[0] }
  }
  if (now.length > 0) return { health: 'wrong', lines: causes, cause: now[0] }
  if (before[0]) {
    const worksAgain = nothingHappens(findings)
    // A single refusal before the last token is harmless. After several, another instance may still be misconfigured.
    if (before.length === 1 && before[0].count === 1) {
      return { health: 'well', lines: [`${worksAgain} ${whatHappens(before[0], findings)}`], elsewhere: ELSEWHERE }
    }
    return { health: 'doubtful', lines: [`${worksAgain} ${INSTANCES}`, ...causes], elsewhere: ELSEWHERE }
  }
  const similar = similarText(findings)
  if (similar) return { health: 'doubtful', lines: [similar] }
  return { health: 'well', lines: [nothingHappens(findings)], elsewhere: ELSEWHERE }
}

/** The diagnosis if no secret is valid. Undefined if one is. */
function withoutSecret(findings: Findings): string | undefined {
  const { clientId, secrets, instructions } = findings
  if (secrets.some(({ state }) => state === 'active')) return undefined
  const rotate = `${instructions.rotate(clientId)} makes a new one: hand it over.`
  if (secrets.length === 0) return `It has no secret: ${rotate}`
  const [last] = secrets.toSorted((one, other) => Number(other.endsAt) - Number(one.endsAt)) as [ListedSecret]
  return `None of its secrets is valid: the last one ${howEnded(last, findings)}. ${rotate}`
}

/** A client id that was refused since the last token, and may be a mistyped form of this one. */
function similarText({ clientId, application, similarRefusals, now }: ApplicationFindings): string | undefined {
  const [group] = groupsOf(similarRefusals)
  if (!group || hasTokenSince(group, application)) return undefined
  const [, beginning = '', length] = ABBREVIATED.exec(group.last.clientId) as RegExpExecArray
  const quote = beginning.includes('"') ? "'" : '"'
  return (
    `None of its requests is refused, but those of a similar unknown client id are, ${howOften(group, now)}: ` +
    `one of ${length} characters that begins with ${quote}${visibleOnOneLine(beginning)}${quote}. ` +
    `Compare what the partner sends with ${clientId} (${clientId.length} characters).`
  )
}

interface UnknownFindings extends Pick<Findings, 'clientId' | 'similarRefusals' | 'now' | 'instructions'> {
  similarApplications: readonly ApplicationNames[]
}

export function diagnoseUnknown(findings: UnknownFindings): Diagnosis {
  const { clientId, similarRefusals, similarApplications, now, instructions } = findings
  const [group] = groupsOf(similarRefusals) as [RefusalGroup]
  const ids = enumerated(similarApplications.map((application) => application.clientId))
  const advice = ids
    ? `Did you mean ${ids}? Compare character by character.`
    : `Compare it with ${instructions.list}. Is it in another database?`
  const refused = `A similar one was refused, ${howOften(group, now)}.`
  return { health: 'wrong', lines: [`No application has the client id ${clientId}. ${refused} ${advice}`] }
}

export function diagnoseRemoved(
  { clientId, similarRefusals, now }: Pick<UnknownFindings, 'clientId' | 'similarRefusals' | 'now'>,
  removal: Removal,
): Diagnosis {
  const [group] = groupsOf(similarRefusals.filter(({ lastAt }) => lastAt > removal.at))
  const refused = group
    ? `Since then its client id, or a similar one, was refused, ${howOften(group, now)}: tell its developer, or register it again.`
    : 'Its client id has not been refused since.'
  const removed = `${removal.name} (${clientId}) was removed ${byWhom(removal, now)}.`
  return { health: group ? 'wrong' : 'well', lines: [`${removed} ${refused}`] }
}

function whatHappens(group: RefusalGroup, { application, now }: ApplicationFindings): string {
  if (isBeforeToken(group, application)) return `Before its last token: ${group.reason}, ${howOften(group, now)}.`
  // Developers know these refusals only by their status.
  return refusalText(group, now, factsOf(group.reason)?.status === 429 ? ' with 429' : '')
}

/** The text for an application that is not refused now. */
function nothingHappens({ application: { lastTokenAt }, refusals: [last], now }: ApplicationFindings): string {
  const refusal = last && `${last.reason}, ${ago(last.lastAt, now)}`
  if (lastTokenAt === undefined) {
    return last
      ? `It has not got a token yet. The cause of its last refusal (${refusal}) is gone.`
      : 'It has not asked for a token yet.'
  }
  const issued = `The last token was issued ${ago(lastTokenAt, now)}`
  if (!last) return `${issued}, and nothing was refused.`
  if (lastTokenAt <= last.lastAt) return `${issued}. The cause of its last refusal (${refusal}) is gone.`
  // A token does not prove that a suite accepts it.
  if (last.reason === 'application not approved')
    return `${issued}. The cause of its last refusal (${refusal}) is gone; no check has been refused since.`
  return `It works again: it got a token ${ago(lastTokenAt, now)}, at ${timestamp(lastTokenAt)}, after its last refusal (${refusal}).`
}

/** Adds a line, with which nothing is well. */
export function withWarning(found: Diagnosis, line: string): Diagnosis {
  return { ...found, health: found.health === 'well' ? 'doubtful' : found.health, lines: [...found.lines, line] }
}

/** Adds a warning about each kind of refusal that is only reported. */
function withReported(found: Diagnosis, refusals: readonly RefusalCount[], findings: ApplicationFindings): Diagnosis {
  const reported = groupsOf(refusals)
    .filter((group) => !isOver(group, findings))
    .map((group) => ({ ...group, line: `${refusalText(group, findings.now)} ${remedyOf(group, findings)}` }))
  // It did ask: the tokens that it has got show up within a minute.
  const isOutdated = reported.length > 0 && found.health === 'well' && findings.application.lastTokenAt === undefined
  const known: Diagnosis = { ...found, reported, lines: isOutdated ? [] : found.lines }
  return reported.reduce((all, { line }) => withWarning(all, line), known)
}

/** Adds a warning if it got so many tokens that the log warns, in the last 60 minutes or in the 60 before. */
function withManyTokens(found: Diagnosis, { application }: ApplicationFindings): Diagnosis {
  const { tokensThisHour, tokensLastHour } = application
  if (!isHeavy(application)) return found
  const isNow = tokensThisHour > MANY_TOKENS
  const line =
    `It got many tokens, ${isNow ? `${tokensThisHour.toLocaleString('en')} in the last 60 minutes` : `${tokensLastHour.toLocaleString('en')} between one and two hours ago`}: ` +
    'it probably asks for one before each call. It should use each token until it expires.'
  return withWarning(found, line)
}

/** Of the active secrets used within a day the first to end, or else the last used, if it ends soon; like listEndingSecrets. */
export function endingSecret(secrets: readonly ListedSecret[], now: number): ListedSecret | undefined {
  const active = secrets.filter(({ state }) => state === 'active')
  const recent = active.filter((secret) => lastUse([secret]) > now - DAY)
  const [used] =
    recent.length > 0
      ? recent.toSorted((a, b) => endOf(a) - endOf(b))
      : active.toSorted((a, b) => lastUse([b]) - lastUse([a]) || endOf(b) - endOf(a))
  return used && endOf(used) <= now + SOON_MS ? used : undefined
}

function endOf({ endsAt }: ListedSecret): number {
  return endsAt ?? Number.POSITIVE_INFINITY
}

function withEndingSecret(found: Diagnosis, findings: Findings): Diagnosis {
  const { clientId, secrets, now, instructions } = findings
  const used = endingSecret(secrets, now)
  if (!used) return found
  const others = secrets.filter(({ state }) => state === 'active')
  const newer = others.filter((secret) => endOf(secret) > endOf(used)).sort((a, b) => b.id - a.id)[0]
  const line = newer
    ? newerSecret(
        findings,
        `Its secret ${used.id}, last used ${ago(lastUse([used]), now)}, ends at ${timestamp(endOf(used))}`,
        newer,
      )
    : `Its last ${used.federated ? 'federated credential' : 'secret'} (${used.id}) ends at ${timestamp(endOf(used))}. After that, all its requests are refused. ` +
      (used.federated
        ? 'Add another one before that.'
        : `${instructions.rotate(clientId)} makes a new one: hand it over before that.`)
  return withWarning(found, line)
}

export function diagnoseSuite(findings: Findings): Diagnosis {
  return withEndingSecret(diagnoseSuiteRequests(findings), findings)
}

function diagnoseSuiteRequests(findings: Findings): Diagnosis {
  const { clientId, secrets, refusals, similarRefusals, now, instructions } = findings
  const noSecret = withoutSecret(findings)
  if (noSecret) return { health: 'wrong', lines: [instructions.ofSuite(clientId, noSecret)] }
  const lastUsedAt = lastUse(secrets)
  const present = groupsOf(refusals).filter(({ lastAt }) => lastUsedAt <= lastAt || lastAt >= now - RECENT_MS)
  const [first, ...others] = present.map((group) => {
    const worksAgain = `It works again: it was authenticated ${ago(lastUsedAt, now)}. ${INSTANCES}`
    const refused = `${worksAgain} Before that: ${group.reason}, ${howOften(group, now)}.`
    return `${lastUsedAt <= group.lastAt ? refusalText(group, now) : refused} ${remedyOfSuite(group, findings)}`
  })
  if (first) {
    const isRefused = present.some(({ lastAt }) => lastUsedAt <= lastAt)
    return { health: isRefused ? 'wrong' : 'doubtful', lines: [instructions.ofSuite(clientId, first), ...others] }
  }
  const [group] = groupsOf(similarRefusals)
  const refused = group
    ? `A client id like this was refused, ${howOften(group, now)}.`
    : 'None of its requests is refused now.'
  return { health: group ? 'doubtful' : 'well', lines: [instructions.ofSuite(clientId, refused, { isWell: true })] }
}
