import { ABBREVIATED } from '../domain/application.ts'
import { factsOf } from '../domain/reasons.ts'
import type { RefusalCount } from '../domain/refusal.ts'
import { visibleOnOneLine } from '../domain/text.ts'
import { timestamp } from '../domain/time.ts'
import { ago } from './age.ts'
import {
  type Findings,
  hasTokenSince,
  howOften,
  type Instructions,
  isBeforeToken,
  isOver,
  type Owner,
  RECENT_MS,
  refusalText,
  remedyOf,
  remedyOfOwner,
  type Trouble,
  troublesOf,
} from './remedies.ts'
import type { ListedSecret } from './secrets.ts'
import type { ShownSuite } from './suites.ts'

/** `doubtful`: no request is refused now, but something may still be wrong. */
export type Health = 'well' | 'doubtful' | 'wrong'

export interface Diagnosis {
  health: Health
  /** One line per likely cause, with its remedy: newest first, but causes from before the last token come last. */
  lines: string[]
  /** Where else to look if the partner still sees errors although nothing is refused now. */
  elsewhere?: string
}

/** 7 days, as on the overview. */
const SOON_MS = 7 * 24 * 60 * 60 * 1000

const ELSEWHERE =
  'If the partner still sees errors, its requests may not reach this server (DNS, TLS, a gateway in between), may be answered with 503 ' +
  '("token-server doctor" says why), or may have no client id that can be read, such as JSON instead of a form: search the ' +
  'log by address and time.'

/** What is most likely wrong with an application now, and what to do. */
export function diagnose(findings: Findings): Diagnosis {
  const { application, now, instructions } = findings
  return withEndingSecret(diagnoseRequests(findings), { ...application, now, instructions })
}

function diagnoseRequests(findings: Findings): Diagnosis {
  const { application, refusals, now } = findings
  const state = wrongState(findings)
  if (state) return { health: 'wrong', lines: [state] }
  const isBefore = (trouble: Trouble) => Number(isBeforeToken(trouble, application))
  const present = troublesOf(refusals)
    .filter((trouble) => !isOver(trouble, application, now))
    .sort((one, other) => isBefore(one) - isBefore(other))
  const causes = present.map((trouble) => `${whatHappens(trouble, findings)} ${remedyOf(trouble, findings)}`)
  const isRefused = present.some((trouble) => !isBeforeToken(trouble, application))
  const isNowhere = hasNoSuite(findings)
  if (isRefused || isNowhere) {
    return { health: 'wrong', lines: isNowhere ? [...causes, nowhere(findings)] : causes }
  }
  if (present.length > 0) return recovered(present, causes, findings)
  const meant = similarText(findings)
  if (meant) return { health: 'doubtful', lines: [meant] }
  return { health: 'well', lines: [nothingHappens(findings)], elsewhere: ELSEWHERE }
}

/** A single refusal before the last token is harmless. After several, another instance may still be misconfigured. */
function recovered(present: readonly Trouble[], causes: string[], findings: Findings): Diagnosis {
  const worksAgain = nothingHappens(findings)
  const [trouble] = present as [Trouble]
  if (present.length === 1 && trouble.count === 1) {
    return { health: 'well', lines: [`${worksAgain} ${whatHappens(trouble, findings)}`], elsewhere: ELSEWHERE }
  }
  const instances = 'If it runs in several places, one of them may still be wrong.'
  return { health: 'doubtful', lines: [`${worksAgain} ${instances}`, ...causes], elsewhere: ELSEWHERE }
}

/** Suites exist, but the application is approved for none of them. */
function hasNoSuite({ application, hasSuites }: Findings): boolean {
  return application.suites.length === 0 && hasSuites
}

function nowhere({ application: { clientId }, instructions }: Findings): string {
  return `It is approved for no suite, so its tokens are valid nowhere: ${instructions.approve(clientId, [])}.`
}

/** What keeps an application from any token, whatever it sends. */
function wrongState({ application, now, instructions }: Findings): string | undefined {
  const { clientId, status, secrets } = application
  if (status === 'suspended') {
    return `It is suspended: it gets no tokens, and those that it has are refused. To allow it again: ${instructions.resume(clientId)}.`
  }
  return withoutSecret({ clientId, secrets, now, instructions })
}

/** What is to be said where no secret is valid. */
function withoutSecret({ clientId, secrets, now, instructions }: Owner): string | undefined {
  if (secrets.some(({ state }) => state === 'active')) return undefined
  const rotate = `${instructions.rotate(clientId)} makes a new one: hand it over.`
  if (secrets.length === 0) return `It has no secret: ${rotate}`
  const [last] = secrets.toSorted((one, other) => Number(other.endsAt) - Number(one.endsAt)) as [ListedSecret]
  const endedAt = last.revokedAt ?? Number(last.endsAt)
  const ended = last.revokedAt === null ? 'the last one ended at' : 'an operator revoked the last one at'
  return `None of its secrets is valid: ${ended} ${timestamp(endedAt)} (${ago(endedAt, now)}). ${rotate}`
}

/** What looks like a mistyped client id, where that has happened since the last token. */
function similarText({ application, similarRefusals, now }: Findings): string | undefined {
  const [trouble] = troublesOf(similarRefusals)
  if (!trouble || hasTokenSince(trouble, application)) return undefined
  const { clientId } = application
  return (
    `Nothing of it is refused, but an unknown client id that looks like it is, ${howOften(trouble, now)}: ` +
    `${abbreviationText(trouble.last.clientId)}. Compare what the partner sends with ${clientId} (${clientId.length} characters).`
  )
}

function abbreviationText(clientId: string): string {
  const [, beginning = '', length] = ABBREVIATED.exec(clientId) as RegExpExecArray
  const quote = beginning.includes('"') ? "'" : '"'
  return `one of ${length} characters that begins with ${quote}${visibleOnOneLine(beginning)}${quote}`
}

/** A client id that is nobody's. */
export function diagnoseUnknown(
  clientId: string,
  {
    similarRefusals,
    similarApplications,
    now,
    instructions,
  }: {
    similarRefusals: readonly RefusalCount[]
    similarApplications: readonly { clientId: string }[]
    now: number
    instructions: Instructions
  },
): Diagnosis {
  const [trouble] = troublesOf(similarRefusals) as [Trouble]
  const ids = similarApplications.map((application) => application.clientId).join(', ')
  const advice = ids
    ? `Is it ${ids}? Compare character by character.`
    : `Compare it with ${instructions.list}; another database? a removed application?`
  const refused = `One like it was refused, ${howOften(trouble, now)}.`
  return { health: 'wrong', lines: [`No application has the client id ${clientId}. ${refused} ${advice}`] }
}

function whatHappens(trouble: Trouble, { application, now }: Findings): string {
  if (isBeforeToken(trouble, application)) return `Before its last token: ${trouble.reason}, ${howOften(trouble, now)}.`
  // Developers know these reasons by their status.
  return refusalText(trouble, now, factsOf(trouble.reason)?.status === 429 ? ' with 429' : '')
}

/** The text for an application of which nothing is refused now. */
function nothingHappens({ application: { lastTokenAt }, refusals: [last], now }: Findings): string {
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

/** Adds to a diagnosis that the last active secret ends soon. */
function withEndingSecret(found: Diagnosis, { clientId, secrets, now, instructions }: Owner): Diagnosis {
  const active = secrets.filter(({ state }) => state === 'active')
  const [last] = active.toSorted((one, other) => endsAtOf(other) - endsAtOf(one))
  if (!last || endsAtOf(last) > now + SOON_MS) return found
  const line =
    `Its last secret (${last.id}) ends at ${timestamp(endsAtOf(last))}. After that, all its requests are refused. ` +
    `${instructions.rotate(clientId)} makes a new one: hand it over before that.`
  return { ...found, health: found.health === 'well' ? 'doubtful' : found.health, lines: [...found.lines, line] }
}

function endsAtOf({ endsAt }: Owner['secrets'][number]): number {
  return endsAt ?? Number.POSITIVE_INFINITY
}

interface SuiteFindings {
  suite: ShownSuite
  /** Those of the suite, newest first. */
  refusals: readonly RefusalCount[]
  /** Those of client ids like it that no application has, newest first. */
  similarRefusals: readonly RefusalCount[]
  /** Milliseconds since the epoch. */
  now: number
  instructions: Instructions
}

/** What is most likely wrong with a suite now: a suite's id, in the place of an application's. */
export function diagnoseSuite(findings: SuiteFindings): Diagnosis {
  const { suite, now, instructions } = findings
  const owner = { clientId: suite.suiteId, secrets: suite.secrets, now, instructions }
  return withEndingSecret(diagnoseSuiteRequests(findings, owner), owner)
}

function diagnoseSuiteRequests(findings: SuiteFindings, owner: Owner): Diagnosis {
  const { suite, refusals, similarRefusals, now, instructions } = findings
  const { suiteId, secrets } = suite
  const state = withoutSecret(owner)
  if (state) return { health: 'wrong', lines: [instructions.ofSuite(suiteId, state)] }
  const lastUsedAt = Math.max(...secrets.map(({ lastUsedAt = 0 }) => lastUsedAt))
  const present = troublesOf(refusals).filter(({ lastAt }) => lastUsedAt <= lastAt || lastAt >= now - RECENT_MS)
  const [first, ...others] = present.map(
    (trouble) => `${whatHappensToSuite(trouble, { lastUsedAt, now })} ${remedyOfOwner(trouble, owner)}`,
  )
  if (first) {
    const isRefused = present.some(({ lastAt }) => lastUsedAt <= lastAt)
    return { health: isRefused ? 'wrong' : 'doubtful', lines: [instructions.ofSuite(suiteId, first), ...others] }
  }
  const [trouble] = troublesOf(similarRefusals)
  const refused = trouble
    ? `A client id like this was refused, ${howOften(trouble, now)}.`
    : 'None of its requests is refused now.'
  return { health: trouble ? 'doubtful' : 'well', lines: [instructions.ofSuite(suiteId, refused, { isWell: true })] }
}

function whatHappensToSuite(trouble: Trouble, { lastUsedAt, now }: { lastUsedAt: number; now: number }): string {
  if (lastUsedAt <= trouble.lastAt) return refusalText(trouble, now)
  const nothing = `It works again: it was authenticated ${ago(lastUsedAt, now)}.`
  return `${nothing} If it runs in several places, one of them may still be wrong. Before that: ${trouble.reason}, ${howOften(trouble, now)}.`
}
