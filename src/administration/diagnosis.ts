import { ABBREVIATED } from '../domain/application.ts'
import type { RefusalCount } from '../domain/refusal-count.ts'
import { isNotShownYet } from '../domain/secret.ts'
import { visibleOnOneLine } from '../domain/visible.ts'
import { ago } from './age.ts'
import { withEndingSecret } from './ending-secret.ts'
import type { Instructions } from './instructions.ts'
import { type Owner, remedyOf } from './remedies.ts'
import type { ListedSecret } from './secrets.ts'
import { hasTokenSince, howOften, isBeforeToken, isOver, type Trouble, troublesOf } from './troubles.ts'
import { timestamp } from './views.ts'
import { nothingHappens, whatHappens } from './what-happens.ts'
import type { ApplicationInTrouble } from './why.ts'

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

/** `doubtful`: no request is refused now, but something may still be wrong. */
export type Health = 'well' | 'doubtful' | 'wrong'

export interface Diagnosis {
  health: Health
  /** One line per likely cause, with its remedy: newest first, but causes from before the last token come last. */
  lines: string[]
  /** Where else to look if the partner still sees errors although nothing is refused now. */
  elsewhere?: string
}

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
export function withoutSecret({ clientId, secrets, now, instructions }: Owner): string | undefined {
  if (secrets.some(({ state }) => state === 'active')) return undefined
  const rotate = `${instructions.rotate(clientId)} makes a new one: hand it over.`
  if (secrets.length === 0) return `It has no secret: ${rotate}`
  if (secrets.every(isNotShownYet)) {
    return 'Its secret is not valid yet, because it was not shown to the end: run the seed again, and hand over the secret that it prints.'
  }
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
