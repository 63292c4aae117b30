import { z } from 'zod'
import { type Application, nameAndDeveloper, namedSuites } from '../domain/application.ts'
import { chunksOf } from '../domain/in-steps.ts'
import { OperatorError } from '../domain/operator-error.ts'
import type { Store } from '../domain/store.ts'
import { type Suite, unknownSuite } from '../domain/suite.ts'
import { camelCased } from '../domain/text.ts'
import type { Registration } from './applications.ts'
import { allPages } from './pages.ts'
import { jsonNamed, registrationSchema, suiteId, suiteSchema, takenId } from './rules.ts'
import type { SuiteRegistration } from './suites.ts'

export interface Seeds {
  suites: SuiteRegistration[]
  applications: Registration[]
}

/** An entry, and the application that it resembles or differs from. */
export interface Mismatch {
  entry: Registration
  application: Application
}

/** An entry, and the registered suite that has another name. */
export interface RenamedSuite {
  entry: SuiteRegistration
  suite: Suite
}

/** What a seed would do. */
export interface SeedPlan {
  /** To be registered. */
  missing: Seeds
  /** The number of entries that exist and are left as they are. */
  existing: number
  /** Entries whose application has another name or developer. */
  differing: Mismatch[]
  renamed: RenamedSuite[]
  /** Missing entries, each with an application that has its name but another developer, and is not in the file. */
  namesakes: Mismatch[]
  /** Whether applications are missing, and there is no suite to approve them for. */
  isWithoutSuites: boolean
}

/** How many entries are looked up at once. */
const LOOK_UPS = 500

/** Finds the entries of a file that are not registered yet. Changes nothing. Throws OperatorError with every problem and its place. */
export async function planSeed(store: Store, file: string, seeds: Seeds): Promise<SeedPlan> {
  const plan: SeedPlan = {
    missing: { suites: [], applications: [] },
    existing: 0,
    differing: [],
    renamed: [],
    namesakes: [],
    isWithoutSuites: false,
  }
  const problems: string[] = []
  const suites = new Map((await allPages<Suite>(store.listSuites)).map((suite) => [suite.suiteId, suite]))
  for (const [at, entry] of seeds.suites.entries()) {
    const suite = suites.get(entry.suiteId)
    if (!suite && (await store.findApplication(entry.suiteId))) {
      problems.push(`suites[${at}].id: ${takenId(entry.suiteId).message}`)
    }
    if (!suite) plan.missing.suites.push(entry)
    else plan.existing++
    if (suite && suite.name !== entry.name) plan.renamed.push({ entry, suite })
  }
  const suiteIds = new Set([...suites.keys(), ...seeds.suites.map(({ suiteId }) => suiteId)])
  problems.push(...(await planApplications(store, seeds.applications, plan, suiteIds)))
  if (problems.length > 0) throw seedProblems(file, problems)
  plan.isWithoutSuites = plan.missing.applications.length > 0 && suiteIds.size === 0
  return plan
}

/** Adds the applications to the plan. Returns the problems. */
async function planApplications(
  store: Store,
  entries: readonly Registration[],
  plan: SeedPlan,
  suiteIds: ReadonlySet<string>,
): Promise<string[]> {
  const problems: string[] = []
  const { find, findNamesake } = await lookUpNames(store, entries)
  /** Name and developer of the entries to be registered: a later entry without a client id may repeat one of them. */
  const planned = new Set<string>()
  let at = 0
  for (const chunk of chunksOf(entries, LOOK_UPS)) {
    for (const { entry, existing } of await Promise.all(chunk.map(find))) {
      const place = `applications[${at++}]`
      const identity = nameAndDeveloper(entry)
      if (existing || (entry.clientId === undefined && planned.has(identity))) plan.existing++
      else {
        planned.add(identity)
        plan.missing.applications.push(entry)
        const namesake = findNamesake(entry)
        if (namesake) plan.namesakes.push({ entry, application: namesake })
        if (entry.clientId !== undefined && suiteIds.has(entry.clientId)) {
          problems.push(`${place}.client_id: ${takenId(entry.clientId).message}`)
        }
        for (const [nth, suiteId] of namedSuites(entry.suites).entries()) {
          if (!suiteIds.has(suiteId)) problems.push(`${place}.suites[${nth}]: ${unknownSuite(suiteId).message}`)
        }
      }
      if (existing && identity !== nameAndDeveloper(existing)) plan.differing.push({ entry, application: existing })
    }
  }
  return problems
}

/** Looks up the applications that have the same name as an entry without a client id. */
async function lookUpNames(store: Store, entries: readonly Registration[]) {
  const clientIds = new Set(entries.map(({ clientId }) => clientId))
  const identities = new Set(entries.map(nameAndDeveloper))
  const byIdentity = new Map<string, Application>()
  const notInFile = new Map<string, Application>()
  const names = new Set(entries.filter(({ clientId }) => clientId === undefined).map(({ name }) => name))
  for (const chunk of chunksOf([...names], LOOK_UPS)) {
    // Newest first, so that the oldest one stays in the maps.
    for (const application of (await store.findNamesakes(chunk)).reverse()) {
      const identity = nameAndDeveloper(application)
      byIdentity.set(identity, application)
      const isInFile = clientIds.has(application.clientId) || identities.has(identity)
      if (!isInFile) notInFile.set(application.name, application)
    }
  }
  return {
    async find(entry: Registration) {
      const { clientId } = entry
      const existing =
        clientId === undefined ? byIdentity.get(nameAndDeveloper(entry)) : await store.findApplication(clientId)
      return { entry, existing }
    },
    /** The oldest application of the same name that is not in the file. */
    findNamesake: ({ clientId, name }: Registration) => (clientId === undefined ? notInFile.get(name) : undefined),
  }
}

function seedProblems(file: string, problems: string[]): OperatorError {
  return new OperatorError(`Nothing was changed. Problems in ${file}:\n  ${problems.join('\n  ')}`)
}

const SUITES = 'The suites must be a list, or "all"'

const application = z
  .strictObject({
    ...jsonNamed(registrationSchema.shape),
    // Without suites a new application was approved for all in every version.
    suites: z
      .preprocess((value) => (value === 'all' ? undefined : value), z.array(suiteId, SUITES).optional())
      .transform((suites) => suites ?? 'all'),
  })
  .transform((row) => camelCased<Registration>(row))

const suite = z
  .strictObject(jsonNamed(suiteSchema.shape))
  .transform(({ id, ...values }) => ({ suiteId: id, ...values }) as SuiteRegistration)

const seedFile = z.strictObject({
  suites: z
    .array(suite)
    .default([])
    .superRefine(assertDistinct('suites', ({ suiteId }) => ['id', suiteId])),
  applications: z
    .array(application)
    .default([])
    .superRefine(
      assertDistinct('applications', (registration) =>
        registration.clientId === undefined
          ? ['name and developer_email', nameAndDeveloper(registration)]
          : ['client_id', registration.clientId],
      ),
    ),
})

/** Parses a seed file. Throws OperatorError with every problem and its place; the messages repeat no value. */
export function parseSeedFile(file: string, content: string): Seeds {
  const result = seedFile.safeParse(parseJson(file, content))
  if (result.success) return result.data
  const problems = result.error.issues.map(({ path, message }) => `${z.core.toDotPath(path) || 'the file'}: ${message}`)
  throw seedProblems(file, problems)
}

function parseJson(file: string, content: string): unknown {
  try {
    return JSON.parse(content)
  } catch (error) {
    // The whole message quotes the text, which may have a secret.
    const [where] = /\(line \d+ column \d+\)/.exec((error as Error).message) ?? ['']
    throw new OperatorError(`${file} is not JSON ${where}`.trimEnd().concat('.'))
  }
}

/** `identity`: the fields that no two entries may have in common, and their values. */
function assertDistinct<Row>(list: string, identity: (row: Row) => [fields: string, values: string]) {
  return (rows: Row[], context: z.RefinementCtx) => {
    const seen = new Map<string, number>()
    for (const [index, row] of rows.entries()) {
      const [fields, values] = identity(row)
      const key = `${fields} ${values}`
      const message = `It has the same ${fields} as ${list}[${seen.get(key)}]`
      if (seen.has(key)) context.addIssue({ code: 'custom', path: [index], message })
      else seen.set(key, index)
    }
  }
}
