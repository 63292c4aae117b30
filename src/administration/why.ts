import { ABBREVIATED, type ApplicationNames, MAX_CLIENT_ID_LENGTH } from '../domain/application.ts'
import { OperatorError } from '../domain/operator-error.ts'
import { REFUSALS_INTERVAL_MS, type RefusalCount } from '../domain/refusal.ts'
import { hourOf, USAGE_INTERVAL_MS } from '../domain/usage.ts'
import { createApplications } from './applications.ts'
import type { Context } from './context.ts'
import { type Diagnosis, diagnose, diagnoseSuite, diagnoseUnknown } from './diagnosis.ts'
import { stepsOfNames } from './pages.ts'
import { type ApplicationInTrouble, COMMANDS, type Instructions } from './remedies.ts'
import { createSuites, type ShownSuite } from './suites.ts'

/** Why a client is refused, as far as is known. */
export interface Explanation extends Diagnosis {
  clientId: string
  /** Undefined: the client id is a suite's, or nobody's. */
  application: ApplicationInTrouble | undefined
  /** Undefined: the client id is an application's, or nobody's. */
  suite: ShownSuite | undefined
  /** Those of the application or the suite, newest first. */
  refusals: RefusalCount[]
  /** Those of client ids that are not registered and may be meant for this one, newest first. */
  similarRefusals: RefusalCount[]
  /** Where the client id is nobody's: applications whose id is nearly the same. */
  similarApplications: ApplicationNames[]
  /** What happened later, servers may not have stored yet. Milliseconds since the epoch; `tokens`: and uses of secrets. */
  knownUntil: { refusals: number; tokens: number }
}

/**
 * Explains why a client is refused. What is shown is up to a minute old. Throws NothingKnown if there is neither an
 * application, nor a suite, nor a refusal with such a client id.
 */
export function createWhy(context: Context) {
  const { store, now } = context
  const applications = createApplications(context)
  const suites = createSuites(context)

  return async (clientId: string, instructions: Instructions = COMMANDS): Promise<Explanation> => {
    const knownUntil = { refusals: now() - REFUSALS_INTERVAL_MS, tokens: now() - USAGE_INTERVAL_MS }
    const similarRefusals = (await store.listRefusals(undefined)).filter((refusal) => looksLike(refusal, clientId))
    if (await store.findApplication(clientId)) {
      const application = await inTrouble(clientId)
      const refusals = await store.listRefusals(clientId)
      const hasSuites = (await store.listSuites({ limit: 1 })).length > 0
      const found = diagnose({ application, refusals, similarRefusals, hasSuites, now: now(), instructions })
      const suite = undefined
      return { clientId, ...found, application, suite, refusals, similarRefusals, similarApplications: [], knownUntil }
    }
    const application = undefined
    if (await store.findSuite(clientId)) {
      const suite = await suites.show(clientId)
      const refusals = await store.listRefusals(clientId)
      const found = diagnoseSuite({ suite, refusals, similarRefusals, now: now(), instructions })
      return { clientId, ...found, application, suite, refusals, similarRefusals, similarApplications: [], knownUntil }
    }
    const similarApplications: ApplicationNames[] = []
    const isNear = nearTo(clientId)
    for await (const names of stepsOfNames(store)) {
      similarApplications.unshift(...names.filter((one) => isNear(one.clientId)).reverse())
    }
    if (similarRefusals.length === 0) throw new NothingKnown(clientId, similarApplications, instructions.list)
    const found = diagnoseUnknown(clientId, { similarRefusals, similarApplications, now: now(), instructions })
    const nobody = { application, suite: undefined, refusals: [] }
    return { clientId, ...found, ...nobody, similarRefusals, similarApplications, knownUntil }
  }

  async function inTrouble(clientId: string): Promise<ApplicationInTrouble> {
    const application = await applications.show(clientId)
    const hour = hourOf(now())
    const [count] = await store.listTokenCounts([application.key], [hour])
    return { ...application, tokensThisHour: count?.issued ?? 0, refusedThisHour: count?.refused ?? 0 }
  }
}

/** No application or suite has this client id, and no similar one was refused. */
export class NothingKnown extends OperatorError {
  /** Applications with a similar client id. */
  readonly similarApplications: ApplicationNames[]

  /** `list`: where all applications are. */
  constructor(clientId: string, similarApplications: ApplicationNames[], list: string) {
    const ids = similarApplications.map((application) => application.clientId).join(', ')
    super(
      `There is no application with the client id ${clientId}, and no refusal of one like it is known. ` +
        (ids ? `Is it ${ids}?` : `Look for its name in ${list}.`),
      { kind: 'not found' },
    )
    this.similarApplications = similarApplications
  }
}

/** So many characters may be wrong, missing or too many. */
const MAX_SLIPS = 2

/** So many characters longer or shorter: two quotes and a line break, for example. */
const MAX_EXTRA = 4

/** A shorter client id is like any other one. */
const SHORTEST = 6

/** So much of a client id tells it from others where the rest is cut off. */
const SHORTEST_BEGINNING = 4

/** What gets around a client id by mistake: quotes, spaces. */
const WRAPPING = /["'\s<>]/

/** Whether the beginning of a client id that is not registered may be this one's: quoted, cut off, or in another case. */
export function looksLike({ clientId: shown }: Pick<RefusalCount, 'clientId'>, clientId: string): boolean {
  const [, beginning = '', length] = ABBREVIATED.exec(shown) ?? []
  const kept = plain(beginning)
  if (kept.length < 2) return false
  const extra = Number(length) - clientId.length
  const isCutOff = extra < 0 && Number(length) >= SHORTEST_BEGINNING
  return plain(clientId).startsWith(kept) && (isCutOff || Math.abs(extra) <= MAX_EXTRA)
}

/** Matches client ids that start with the requested text or differ from it by a typo or two. The text may be anything. */
export function nearTo(asked: string): (clientId: string) => boolean {
  if (asked.length > MAX_CLIENT_ID_LENGTH + MAX_EXTRA) return () => false
  const b = plain(asked)
  return (clientId) => {
    const a = plain(clientId)
    if (a === b || (b.length >= SHORTEST_BEGINNING && a.startsWith(b))) return true
    return Math.min(a.length, b.length) >= SHORTEST && distance(a, b) <= MAX_SLIPS
  }
}

/** Lower case, without surrounding quotes and spaces. A loop, because /["\s]+$/ takes quadratic time on a thousand quotes. */
function plain(clientId: string): string {
  const isWrapping = (at: number) => WRAPPING.test(clientId.charAt(at))
  let [start, end] = [0, clientId.length]
  while (isWrapping(start)) start++
  while (end > start && isWrapping(end - 1)) end--
  return clientId.slice(start, end).toLowerCase()
}

/** How many characters must be changed, added or left out to make one text the other (Levenshtein); at most one too many. */
function distance(a: string, b: string): number {
  if (Math.abs(a.length - b.length) > MAX_SLIPS) return MAX_SLIPS + 1
  let row = Array.from({ length: b.length + 1 }, (_, at) => at)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const changed = (row[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1)
      next.push(Math.min(changed, (row[j] as number) + 1, (next[j - 1] as number) + 1))
    }
    if (Math.min(...next) > MAX_SLIPS) return MAX_SLIPS + 1
    row = next
  }
  return row[b.length] as number
}
