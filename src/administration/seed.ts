import { chunksOf } from '../domain/in-steps.ts'
import type { NewClients } from '../domain/store.ts'
import {
  applicationRegistered,
  prepareApplication,
  type RegisteredApplication,
  type Registration,
} from './applications.ts'
import type { Context } from './context.ts'
import { planSeed, type SeedPlan, type Seeds } from './seed-plan.ts'
import { prepareSuite, type RegisteredSuite } from './suites.ts'

/** Suites and applications with their new credentials, none of which is in the store yet. */
export interface SeedStep {
  suites: RegisteredSuite[]
  applications: RegisteredApplication[]
  /**
   * Registers them in one transaction, after their credentials were shown; durable when it resolves. Resolves to the ids whose
   * credentials are not valid, because they were registered since the plan.
   */
  register(): Promise<string[]>
}

/** Entries per transaction: a server on the same store waits for its end. */
const STEP = 500

/** The weight of an imported secret, which takes a tenth of a second to hash. */
const IMPORTED_WEIGHT = 32

/** Registers the missing entries of a file: any number of applications, while a server runs on the same store. */
export function createSeed(context: Context) {
  return {
    /** Finds the entries of a file that are not registered yet. Changes nothing. Throws OperatorError with every problem and its place. */
    plan: (file: string, seeds: Seeds): Promise<SeedPlan> => planSeed(context.store, file, seeds),

    /** Yields the missing entries of a plan in steps. A step is prepared when it is requested. */
    async *steps({ suites, applications }: Seeds): AsyncGenerator<SeedStep, void> {
      for (const step of chunksOf(suites, STEP)) yield registerStep(context, { suites: step, applications: [] })
      for (const step of chunksOf(applications, STEP, weigh))
        yield registerStep(context, { suites: [], applications: step })
    },
  }
}

function weigh({ clientSecret }: Registration): number {
  return clientSecret === undefined ? 1 : IMPORTED_WEIGHT
}

function idsOf({ suites, applications }: NewClients): string[] {
  return [...suites.map(({ suiteId }) => suiteId), ...applications.map(({ clientId }) => clientId)]
}

async function registerStep({ store, now, audit, report }: Context, missing: Seeds): Promise<SeedStep> {
  const preparedSuites = missing.suites.map((entry) => prepareSuite(entry, now))
  // All at once, because hashes are computed on several cores.
  const preparedApplications = await Promise.all(
    missing.applications.map((entry) => prepareApplication(entry, now, { skipNamesake: entry.clientId === undefined })),
  )
  const suites = preparedSuites.map(({ newSuite }) => newSuite)
  const applications = preparedApplications.map(({ newApplication }) => newApplication)

  async function register(): Promise<string[]> {
    const added = await store.register({ suites, applications }, audit())
    for (const { suiteId, name } of added.suites) report({ type: 'suite registered', suite: suiteId, name })
    for (const application of added.applications) report(applicationRegistered(application))
    return [...new Set(idsOf({ suites, applications })).difference(new Set(idsOf(added)))]
  }

  return {
    suites: preparedSuites.map(({ registered }) => registered),
    applications: preparedApplications.map(({ registered }) => registered),
    register,
  }
}
