import { digestGenerated, generateSecret, NOT_SHOWN_YET } from '../domain/secret.ts'
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

/** What one step registered, or gave another secret. */
export interface Seeded {
  suites: RegisteredSuite[]
  applications: RegisteredApplication[]
  /** How many of the step another process has registered, or removed, since the plan. */
  existing: number
}

/** How many are registered in one transaction: a server beside waits for its end. */
const STEP = 500

/** What an imported secret counts for: to hash it takes a tenth of a second. */
const IMPORTED_WEIGHT = 32

/** Registers what is missing of a file: any number of applications, beside a server that goes on. */
export function createSeed({ store, now, audit, change, report }: Context) {
  /** Finds out what is missing of a file. Changes nothing. Throws OperatorError with every problem and its place. */
  function plan(file: string, seeds: Seeds): Promise<SeedPlan> {
    return planSeed(store, file, seeds)
  }

  /**
   * Registers what is missing. A step is one transaction, and on disk when it is yielded. To take the next one is to say that
   * the secrets of this one were shown: only then do they become valid. So the plan of a later run can tell those that a run
   * has not shown, because it ended in between. Begins no step after the signal is aborted.
   */
  async function* register({ missing, unfinished }: SeedPlan, signal?: AbortSignal): AsyncGenerator<Seeded, void> {
    for (const step of stepsOf({ missing, unfinished })) {
      if (signal?.aborted) return
      const seeded = await step()
      yield seeded
      await store.startSecrets([
        ...seeded.suites.map(({ suiteId }) => suiteId),
        ...seeded.applications.map(({ clientId }) => clientId),
      ])
    }
  }

  function* stepsOf({ missing, unfinished }: Pick<SeedPlan, 'missing' | 'unfinished'>) {
    const none = { suites: [], applications: [] }
    for (const suites of chunksOf(unfinished.suites, STEP)) yield () => finish({ ...none, suites })
    for (const suites of chunksOf(missing.suites, STEP)) yield () => registerStep({ ...none, suites })
    for (const applications of chunksOf(unfinished.applications, STEP)) yield () => finish({ ...none, applications })
    for (const applications of chunksOf(missing.applications, STEP, weigh)) {
      yield () => registerStep({ ...none, applications })
    }
  }

  /** Gives each another secret. */
  async function finish({ suites, applications }: Seeds): Promise<Seeded> {
    const seeded: Seeded = { suites: [], applications: [], existing: 0 }
    for (const { suiteId, name } of suites) {
      const clientSecret = await addSecret(suiteId)
      if (clientSecret === undefined) seeded.existing++
      else seeded.suites.push({ suiteId, clientSecret, name })
    }
    for (const { clientId, name, developerEmail } of applications as (Registration & { clientId: string })[]) {
      const clientSecret = await addSecret(clientId)
      if (clientSecret === undefined) seeded.existing++
      else seeded.applications.push({ clientId, clientSecret, name, developerEmail })
    }
    return seeded
  }

  /** The new secret; undefined where there is no such owner any more. */
  async function addSecret(owner: string): Promise<string | undefined> {
    const clientSecret = generateSecret()
    const secret = { digest: digestGenerated(clientSecret), createdAt: now(), endsAt: NOT_SHOWN_YET }
    const { changed } = await change({ type: 'secret added', owner, secret })
    return changed ? clientSecret : undefined
  }

  /** Registers these in one transaction. What another process has registered meanwhile is left out. */
  async function registerStep({ suites, applications }: Seeds): Promise<Seeded> {
    const preparedSuites = suites.map((entry) => prepareSuite(entry, { now, isShownFirst: true }))
    // All at once: hashes are made on several cores.
    const prepared = await Promise.all(
      applications.map((entry) =>
        prepareApplication(entry, { now, skipNamesake: entry.clientId === undefined, isShownFirst: true }),
      ),
    )
    const newcomers = {
      suites: preparedSuites.map(({ newSuite }) => newSuite),
      applications: prepared.map(({ newApplication }) => newApplication),
    }
    const added = await store.register(newcomers, audit())
    for (const { suiteId, name } of added.suites) report({ type: 'suite registered', suite: suiteId, name })
    for (const application of added.applications) report(applicationRegistered(application))
    const addedSuites = new Set(added.suites)
    const addedApplications = new Set(added.applications)
    return {
      suites: preparedSuites.filter(({ newSuite }) => addedSuites.has(newSuite)).map(({ registered }) => registered),
      applications: prepared
        .filter(({ newApplication }) => addedApplications.has(newApplication))
        .map(({ registered }) => registered),
      existing: suites.length + applications.length - added.suites.length - added.applications.length,
    }
  }

  return { plan, register }
}

function weigh({ clientSecret }: Registration): number {
  return clientSecret === undefined ? 1 : IMPORTED_WEIGHT
}
