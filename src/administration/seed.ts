import { digestGenerated, generateSecret } from '../domain/secret.ts'
import {
  applicationRegistered,
  prepareApplication,
  type RegisteredApplication,
  type Registration,
} from './applications.ts'
import type { Context } from './context.ts'
import { chunksOf } from './pages.ts'
import { planSeed, type SeedPlan, type Seeds } from './seed-plan.ts'
import { prepareSuite, type RegisteredSuite } from './suites.ts'

/** Suites and applications with the credentials that they will have. Nothing of them is in the store yet. */
export interface SeedStep {
  suites: RegisteredSuite[]
  applications: RegisteredApplication[]
  /**
   * Registers them in one transaction; resolves when that is on disk. To be called when the credentials were shown.
   * Returns the ids of those that others have registered, or removed, since the plan: their credentials are not valid.
   */
  register(): Promise<string[]>
}

/** How many are registered in one transaction: a server beside waits for its end. */
const STEP = 500

/** What an imported secret counts for: to hash it takes a tenth of a second. */
const IMPORTED_WEIGHT = 32

/** Registers what is missing of a file: any number of applications, beside a server that goes on. */
export function createSeed(context: Context) {
  return {
    /** Finds out what is missing of a file. Changes nothing. Throws OperatorError with every problem and its place. */
    plan: (file: string, seeds: Seeds): Promise<SeedPlan> => planSeed(context.store, file, seeds),

    /** What is missing, step by step. A step is prepared when it is asked for. */
    async *steps({ missing, renewed }: SeedPlan): AsyncGenerator<SeedStep, void> {
      for (const suites of chunksOf(renewed.suites, STEP)) yield renewStep(context, suites, [])
      for (const suites of chunksOf(missing.suites, STEP)) yield registerStep(context, suites, [])
      for (const applications of chunksOf(renewed.applications, STEP)) yield renewStep(context, [], applications)
      for (const applications of chunksOf(missing.applications, STEP, weigh)) {
        yield registerStep(context, [], applications)
      }
    },
  }
}

/** Gives each another secret. */
function renewStep(
  { now, change }: Context,
  suites: SeedPlan['renewed']['suites'],
  applications: SeedPlan['renewed']['applications'],
): SeedStep {
  const step = {
    suites: suites.map((suite) => ({ ...suite, clientSecret: generateSecret() })),
    applications: applications.map((application) => ({ ...application, clientSecret: generateSecret() })),
  }

  async function register(): Promise<string[]> {
    const refused: string[] = []
    for (const one of [...step.suites, ...step.applications]) {
      const owner = 'suiteId' in one ? one.suiteId : one.clientId
      const secret = { digest: digestGenerated(one.clientSecret), createdAt: now() }
      const { changed } = await change({ type: 'secret added', owner, secret })
      if (!changed) refused.push(owner)
    }
    return refused
  }

  return { ...step, register }
}

async function registerStep(
  { store, now, audit, report }: Context,
  suites: Seeds['suites'],
  applications: Seeds['applications'],
): Promise<SeedStep> {
  const preparedSuites = suites.map((entry) => prepareSuite(entry, { now }))
  // All at once: hashes are made on several cores.
  const preparedApplications = await Promise.all(
    applications.map((entry) => prepareApplication(entry, { now, skipNamesake: entry.clientId === undefined })),
  )
  const newcomers = {
    suites: preparedSuites.map(({ newSuite }) => newSuite),
    applications: preparedApplications.map(({ newApplication }) => newApplication),
  }

  async function register(): Promise<string[]> {
    const added = await store.register(newcomers, audit())
    for (const { suiteId, name } of added.suites) report({ type: 'suite registered', suite: suiteId, name })
    for (const application of added.applications) report(applicationRegistered(application))
    const [addedSuites, addedApplications] = [new Set(added.suites), new Set(added.applications)]
    return [
      ...newcomers.suites.filter((suite) => !addedSuites.has(suite)).map(({ suiteId }) => suiteId),
      ...newcomers.applications.filter((one) => !addedApplications.has(one)).map(({ clientId }) => clientId),
    ]
  }

  return {
    suites: preparedSuites.map(({ registered }) => registered),
    applications: preparedApplications.map(({ registered }) => registered),
    register,
  }
}

function weigh({ clientSecret }: Registration): number {
  return clientSecret === undefined ? 1 : IMPORTED_WEIGHT
}
