import type { Application } from '../domain/application.ts'
import { chunksOf } from '../domain/in-steps.ts'
import type { NewClients } from '../domain/store.ts'
import type { Suite } from '../domain/suite.ts'
import { camelCased } from '../domain/text.ts'
import { applicationFields, suiteFields } from '../views/registry.ts'
import {
  applicationRegistered,
  prepareApplication,
  type RegisteredApplication,
  type Registration,
} from './applications.ts'
import { type Fields, identityOf, type PlannedChange, type Present, planOf, type Wanted } from './apply-plan.ts'
import type { Context } from './context.ts'
import { allPages } from './pages.ts'
import { prepareSuite, type RegisteredSuite, type SuiteRegistration } from './suites.ts'

export interface SeedPlan {
  added: PlannedChange[]
  /** The number of entries that exist and are left as they are. */
  existing: number
  /** Entries whose names or developers differ in the file. */
  differing: PlannedChange[]
  /** New applications, each paired with an existing one of the same name but another developer, which is not in the file. */
  namesakes: { added: PlannedChange; application: Fields }[]
  /** Whether applications are new, and there is no suite to approve them for. */
  isWithoutSuites: boolean
}

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

/** Entries per transaction, because a server on the same store waits for its end. */
const STEP = 500

/** The weight of an imported secret, which takes a tenth of a second to hash. */
const IMPORTED_WEIGHT = 32

const LOOK_UPS = 500

/** Registers the missing entries of a file: any number of applications, while a server runs on the same store. */
export function createSeed(context: Context) {
  return {
    /** Changes nothing. Throws OperatorError with every problem and its place. */
    plan: (wanted: Wanted): Promise<SeedPlan> => planSeed(context.store, wanted),

    /** Yields what to add in steps, suites first. Prepares a step when it is requested. */
    async *steps(added: readonly PlannedChange[]): AsyncGenerator<SeedStep, void> {
      const { suite = [], application = [] } = Object.groupBy(added, ({ kind }) => kind)
      const suites = suite.map(({ id, after }) => camelCased<SuiteRegistration>({ ...after, suite_id: id }))
      const applications = application.map(({ id, after }) =>
        camelCased<Registration>({ ...after, ...(id && { client_id: id }) }),
      )
      for (const step of chunksOf(suites, STEP)) yield prepareStep(context, step, [])
      for (const step of chunksOf(applications, STEP, weigh)) yield prepareStep(context, [], step)
    },
  }
}

async function planSeed(store: Context['store'], wanted: Wanted): Promise<SeedPlan> {
  const present = await findMeant(store, wanted)
  const { changes, change, unchanged } = planOf(wanted, present, { isSeed: true })
  const { add: added = [], change: differing = [] } = Object.groupBy(changes, ({ action }) => action)
  const { suites = [], applications = [] } = wanted
  const inFile = new Set(applications.flatMap((entry) => [entry.client_id, identityOf(entry)]))
  const others = present.application.filter((one) => !inFile.has(one.client_id) && !inFile.has(identityOf(one)))
  const oldest = new Map(others.toReversed().map((one) => [one.name, one]))
  const namesakes = added.flatMap((one): SeedPlan['namesakes'] => {
    const application = one.id === '' && oldest.get(one.name)
    return application ? [{ added: one, application }] : []
  })
  const isWithoutSuites = added.some(({ kind }) => kind === 'application') && present.suite.length + suites.length === 0
  return { added, existing: change + unchanged, differing, namesakes, isWithoutSuites }
}

/** Every suite, and the applications that entries may mean; of those with one name, the oldest first. */
async function findMeant(store: Context['store'], { suites = [], applications = [] }: Wanted): Promise<Present> {
  const found: (Application | undefined)[][] = []
  const withoutId = applications.filter(({ client_id }) => client_id === undefined)
  for (const names of chunksOf(new Set(withoutId.map(({ name }) => String(name))), LOOK_UPS)) {
    found.push(await store.findNamesakes(names))
  }
  const ids = [...suites.map(({ id }) => id), ...applications.map(({ client_id }) => client_id)]
  const given = ids.filter((id) => typeof id === 'string')
  for (const some of chunksOf(given, LOOK_UPS)) found.push(await Promise.all(some.map(store.findApplication)))
  const suite = (await allPages<Suite>(store.listSuites)).map(suiteFields)
  return { suite, application: found.flat().flatMap((one) => (one ? applicationFields(one) : [])) }
}

function weigh({ clientSecret }: Registration): number {
  return clientSecret === undefined ? 1 : IMPORTED_WEIGHT
}

function idsOf({ suites, applications }: NewClients): string[] {
  return [...suites.map(({ suiteId }) => suiteId), ...applications.map(({ clientId }) => clientId)]
}

async function prepareStep(
  { store, now, audit, report }: Context,
  newSuites: SuiteRegistration[],
  newApplications: Registration[],
): Promise<SeedStep> {
  const preparedSuites = newSuites.map((entry) => prepareSuite(entry, now))
  // All at once, because hashes are computed on several cores.
  const preparedApplications = await Promise.all(
    newApplications.map((entry) => prepareApplication(entry, now, { skipNamesake: entry.clientId === undefined })),
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
