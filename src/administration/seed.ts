import { unknownSuite } from '../domain/suite.ts'
import type { Context } from './administration.ts'
import {
  applicationRegistered,
  createApplications,
  prepareApplication,
  type RegisteredApplication,
  type Registration,
} from './applications.ts'
import { takenId } from './rules.ts'
import { createSuites, prepareSuite, type RegisteredSuite, type SuiteRegistration } from './suites.ts'

export interface Seeds {
  suites: SuiteRegistration[]
  applications: Registration[]
}

/** What a seed registered; what existed before is left out. */
export interface Seeded {
  suites: RegisteredSuite[]
  applications: RegisteredApplication[]
}

/**
 * Registers those suites and applications that are missing, in one transaction, and leaves those that exist: the ones with
 * the same id or, for an application without one, the same name and developer.
 */
export function createSeed(context: Context) {
  const { store, now, report } = context
  const applications = createApplications(context)
  const suites = createSuites(context)

  return async function seed(seeds: Seeds): Promise<Seeded> {
    const existingSuites = await suites.list()
    const existingApplications = await applications.list()
    const suiteIds = new Set(existingSuites.map(({ suiteId }) => suiteId))
    const clientIds = new Set(existingApplications.map(({ clientId }) => clientId))
    const namesakes = new Set(existingApplications.map(nameAndDeveloper))

    const missingSuites = seeds.suites.filter(({ suiteId }) => !suiteIds.has(suiteId))
    const missing = seeds.applications.filter((one) =>
      one.clientId === undefined ? !namesakes.has(nameAndDeveloper(one)) : !clientIds.has(one.clientId),
    )
    for (const { suiteId } of missingSuites) suiteIds.add(suiteId)
    for (const { clientId } of missing) if (clientId !== undefined) clientIds.add(clientId)
    for (const suiteId of missing.flatMap((one) => one.suites ?? [])) {
      if (!suiteIds.has(suiteId)) throw unknownSuite(suiteId)
    }
    for (const clientId of clientIds) if (suiteIds.has(clientId)) throw takenId(clientId)

    const preparedSuites = missingSuites.map((one) => prepareSuite(one, now))
    const prepared = []
    for (const one of missing) {
      prepared.push(await prepareApplication(one, { now, skipNamesake: one.clientId === undefined }))
    }
    const added = await store.register({
      suites: preparedSuites.map(({ newSuite }) => newSuite),
      applications: prepared.map(({ newApplication }) => newApplication),
    })
    const addedSuites = new Set(added.suites)
    const addedApplications = new Set(added.applications)
    for (const { suiteId, name } of added.suites) report({ type: 'suite registered', suite: suiteId, name })
    for (const application of added.applications) report(applicationRegistered(application))
    return {
      suites: preparedSuites.filter(({ newSuite }) => addedSuites.has(newSuite)).map(({ registered }) => registered),
      applications: prepared
        .filter(({ newApplication }) => addedApplications.has(newApplication))
        .map(({ registered }) => registered),
    }
  }
}

/** What tells an application without a client id from others, in the store and in a seed file. */
export function nameAndDeveloper({ name, developerEmail }: Pick<Registration, 'name' | 'developerEmail'>): string {
  return JSON.stringify([name, developerEmail])
}
