import type { ApplicationNames } from '../domain/application.ts'
import { OperatorError } from '../domain/operator-error.ts'
import { REFUSALS_INTERVAL_MS, type RefusalCount } from '../domain/refusal.ts'
import { hourOf, USAGE_INTERVAL_MS } from '../domain/usage.ts'
import { createApplications } from './applications.ts'
import type { Context } from './context.ts'
import { diagnose, diagnoseSuite, diagnoseUnknown } from './diagnosis.ts'
import type { ApplicationInTrouble, Diagnosis } from './findings.ts'
import { COMMANDS, type Instructions } from './instructions.ts'
import { looksLike, nearTo } from './look-alikes.ts'
import { stepsOfNames } from './names.ts'
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
