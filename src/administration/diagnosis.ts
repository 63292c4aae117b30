import { ABBREVIATED } from '../domain/application.ts'
import type { RefusalCount } from '../domain/refusal-count.ts'
import { isNotShownYet } from '../domain/secret.ts'
import { visibleOnOneLine } from '../domain/visible.ts'
import { ago } from './age.ts'
import { type Owner, remedyOf } from './remedies.ts'
import type { ListedSecret } from './secrets.ts'
import { hasTokenSince, howOften, isBeforeToken, isOver, type Trouble, troublesOf } from './troubles.ts'
import { timestamp } from './views.ts'
import type { Ways } from './ways.ts'
import { alsoText, hasNoSuite, nothingHappens, whatHappens } from './what-happens.ts'
import type { ApplicationInTrouble } from './why.ts'

/** What is known of an application. Newest refusals first; `now` in milliseconds since the epoch. */
export interface Findings {
  application: ApplicationInTrouble
  refusals: readonly RefusalCount[]
  similarRefusals: readonly RefusalCount[]
  /** Whether there is any suite: else tokens are checked without one. */
  hasSuites: boolean
  now: number
  ways: Ways
}

/** Doubtful: nothing of it is refused now, and yet something may be wrong. */
export type Health = 'well' | 'doubtful' | 'wrong'

export interface Diagnosis {
  health: Health
  /** What is most likely wrong now, and what to do about it: a few sentences. */
  diagnosis: string
}

const NOT_HERE =
  'If the partner sees errors all the same, what it sends does not reach this server (DNS, TLS, a gateway in between), is answered with 503 ' +
  '("token-server doctor" says why), or has no client id that can be read, such as JSON in place of a form: search the ' +
  'log by address and time.'

/** What is most likely wrong with an application now, and what to do. */
export function diagnose(findings: Findings): Diagnosis {
  const { application, refusals, now, ways } = findings
  const state = wrongState(findings)
  if (state) return { health: 'wrong', diagnosis: state }
  const troubles = troublesOf(refusals)
  const present = troubles.filter((trouble) => !isOver(trouble, application, now))
  const current = present.find((trouble) => !isBeforeToken(trouble, application)) ?? present[0]
  if (current) {
    const others = present.filter((trouble) => trouble !== current)
    return {
      health: isBeforeToken(current, application) ? 'doubtful' : 'wrong',
      diagnosis: `${whatHappens(current, findings)} ${remedyOf(current, findings)}${alsoText(others, findings)}`,
    }
  }
  if (hasNoSuite(findings)) {
    const approve = ways.approve(application.clientId, [])
    return { health: 'wrong', diagnosis: `It is approved for no suite, so its tokens are valid nowhere: ${approve}.` }
  }
  const meant = similarText(findings)
  if (meant) return { health: 'doubtful', diagnosis: meant }
  return { health: 'well', diagnosis: `${nothingHappens(findings)} ${NOT_HERE}` }
}

/** What keeps an application from any token, whatever it sends. */
function wrongState({ application, now, ways }: Findings): string | undefined {
  const { clientId, status, secrets } = application
  if (status === 'suspended') {
    return `It is suspended: it gets no tokens, and those that it has are refused. If that is over: ${ways.resume(clientId)}.`
  }
  return withoutSecret({ clientId, secrets, now, ways })
}

/** What is to be said where no secret is valid. */
export function withoutSecret({ clientId, secrets, now, ways }: Owner): string | undefined {
  if (secrets.some(({ state }) => state === 'active')) return undefined
  const rotate = `${ways.rotate(clientId)} makes a new one: hand it over.`
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
    ways,
  }: {
    similarRefusals: readonly RefusalCount[]
    similarApplications: readonly { clientId: string }[]
    now: number
    ways: Ways
  },
): Diagnosis {
  const [trouble] = troublesOf(similarRefusals) as [Trouble]
  const ids = similarApplications.map((application) => application.clientId).join(', ')
  const advice = ids
    ? `Is it ${ids}? Compare character by character.`
    : `Compare it with ${ways.list}; another database? a removed application?`
  const diagnosis = `No application has the client id ${clientId}. One like it was refused, ${howOften(trouble, now)}. ${advice}`
  return { health: 'wrong', diagnosis }
}
