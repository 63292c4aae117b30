import { z } from 'zod'
import { type Application, nameAndDeveloper } from '../domain/application.ts'
import { OperatorError } from '../domain/operator-error.ts'
import { camelCased } from '../domain/schema.ts'
import type { Secret } from '../domain/secret.ts'
import type { Store } from '../domain/store.ts'
import { type Suite, unknownSuite } from '../domain/suite.ts'
import type { RegisteredApplication, Registration } from './applications.ts'
import { allPages, chunksOf } from './pages.ts'
import { fields, jsonNamed, registrationSchema, takenId } from './rules.ts'
import type { SuiteRegistration } from './suites.ts'

export interface Seeds {
  suites: SuiteRegistration[]
  applications: Registration[]
}

/** An entry, and the registered application that it is not, or not in every field. */
export interface Resemblance {
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
  /** Registered by an earlier version of this program that ended before it had shown their secrets: they need others. */
  renewed: { suites: SuiteRegistration[]; applications: Omit<RegisteredApplication, 'clientSecret'>[] }
  /** How many entries exist and are left as they are. */
  existing: number
  /** Registered ones whose name or developer is another one in the file. */
  differing: Resemblance[]
  /** Registered suites whose name is another one in the file. */
  renamed: RenamedSuite[]
  /** Missing ones, each with an application of the same name and another developer that the file does not have. */
  namesakes: Resemblance[]
  /** Whether applications are missing while there is no suite to approve them for. */
  isWithoutSuites: boolean
}

/** These are looked up together. */
const LOOK_UPS = 500

/** Finds out what is missing of a file. Changes nothing. Throws OperatorError with every problem and its place. */
export async function planSeed(store: Store, file: string, seeds: Seeds): Promise<SeedPlan> {
  const plan: SeedPlan = {
    missing: { suites: [], applications: [] },
    renewed: { suites: [], applications: [] },
    existing: 0,
    differing: [],
    renamed: [],
    namesakes: [],
    isWithoutSuites: false,
  }
  const problems: string[] = []

  const allSuites: Suite[] = await allPages((page) => store.listSuites(page))
  const suites = new Map(allSuites.map((suite) => [suite.suiteId, suite]))
  for (const [at, entry] of seeds.suites.entries()) {
    const suite = suites.get(entry.suiteId)
    if (!suite && (await store.findApplication(entry.suiteId))) {
      problems.push(`suites[${at}].id: ${takenId(entry.suiteId).message}`)
    }
    if (!suite) plan.missing.suites.push(entry)
    else if (isNeverShown(suite)) plan.renewed.suites.push(entry)
    else plan.existing++
    if (suite && suite.name !== entry.name) plan.renamed.push({ entry, suite })
  }

  const suiteIds = new Set([...suites.keys(), ...seeds.suites.map(({ suiteId }) => suiteId)])
  const lookUp = createSeedLookup(store, seeds.applications)
  /** Of entries with a client id: one without that has the same would be their namesake. */
  const named = new Set<string>()
  let at = 0
  for (const chunk of chunksOf(seeds.applications, LOOK_UPS)) {
    for (const { entry, existing, namesake } of await lookUp(chunk)) {
      const place = `applications[${at++}]`
      if (existing) {
        const { clientId } = existing
        const { name, developerEmail } = entry
        if (isNeverShown(existing)) plan.renewed.applications.push({ clientId, name, developerEmail })
        else plan.existing++
        if (nameAndDeveloper(entry) !== nameAndDeveloper(existing))
          plan.differing.push({ entry, application: existing })
        continue
      }
      if (entry.clientId !== undefined) named.add(nameAndDeveloper(entry))
      else if (named.has(nameAndDeveloper(entry))) {
        plan.existing++
        continue
      }
      plan.missing.applications.push(entry)
      if (namesake) plan.namesakes.push({ entry, application: namesake })
      if (entry.clientId !== undefined && suiteIds.has(entry.clientId)) {
        problems.push(`${place}.client_id: ${takenId(entry.clientId).message}`)
      }
      for (const [nth, suiteId] of (entry.suites ?? []).entries()) {
        if (!suiteIds.has(suiteId)) problems.push(`${place}.suites[${nth}]: ${unknownSuite(suiteId).message}`)
      }
    }
  }
  if (problems.length > 0) throw seedProblems(file, problems)
  plan.isWithoutSuites = plan.missing.applications.length > 0 && suiteIds.size === 0
  return plan
}

/** The error of an operator who gives a file with these problems. */
function seedProblems(file: string, problems: string[]): OperatorError {
  return new OperatorError(`Nothing was changed. Problems in ${file}:\n  ${problems.join('\n  ')}`)
}

/** Earlier versions registered before they showed a secret, and gave it this end until it was shown. */
const UNTIL_SHOWN = 0

function isNeverShown({ secrets }: { secrets: readonly Secret[] }): boolean {
  return secrets.length > 0 && secrets.every(({ endsAt }) => endsAt === UNTIL_SHOWN)
}

/** An entry of a seed file, and what there is of it. */
interface LookedUp {
  entry: Registration
  /** The application that it is: the one with its client id or, where it has none, with its name and developer. */
  existing: Application | undefined
  /** Where there is none: an application of the same name that is in no entry of the file. */
  namesake: Application | undefined
}

/** The applications of one name. */
interface Namesakes {
  byDeveloper: Map<string, Application>
  stranger: Application | undefined
}

/** Looks entries of a file up, many at once: one query for the names of all, and each name once for the whole file. */
function createSeedLookup(store: Store, file: readonly Registration[]) {
  const clientIds = new Set(file.map(({ clientId }) => clientId))
  const identities = new Set(file.map(nameAndDeveloper))
  const byName = new Map<string, Namesakes>()

  return async function lookUp(entries: readonly Registration[]): Promise<LookedUp[]> {
    await readNames(entries)
    return Promise.all(
      entries.map(async (entry) => {
        const namesakes = byName.get(entry.name)
        const existing =
          entry.clientId === undefined
            ? namesakes?.byDeveloper.get(entry.developerEmail)
            : await store.findApplication(entry.clientId)
        return {
          entry,
          existing,
          namesake: entry.clientId === undefined && !existing ? namesakes?.stranger : undefined,
        }
      }),
    )
  }

  async function readNames(entries: readonly Registration[]): Promise<void> {
    const names = new Set(entries.filter(({ clientId }) => clientId === undefined).map(({ name }) => name))
    const unread = [...names].filter((name) => !byName.has(name))
    for (const name of unread) byName.set(name, { byDeveloper: new Map(), stranger: undefined })
    for (const application of await store.findNamesakes(unread)) {
      const namesakes = byName.get(application.name) as Namesakes
      const { byDeveloper } = namesakes
      if (!byDeveloper.has(application.developerEmail)) byDeveloper.set(application.developerEmail, application)
      if (!isInFile(application)) namesakes.stranger ??= application
    }
  }

  function isInFile(application: Application): boolean {
    return clientIds.has(application.clientId) || identities.has(nameAndDeveloper(application))
  }
}

const application = z
  .strictObject({ ...jsonNamed(registrationSchema.shape), suites: z.array(fields.suiteId).optional() })
  .transform((row) => camelCased<Registration>(row))

const suite = z
  .strictObject({ id: fields.newSuiteId, name: fields.name })
  .transform(({ id, name }): SuiteRegistration => ({ suiteId: id, name }))

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

/** What a seed file asks for. Throws OperatorError with every problem and its place; it repeats no value. */
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
    // The message itself quotes the text, and with it perhaps a secret.
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
      const first = seen.get(`${fields} ${values}`)
      if (first === undefined) seen.set(`${fields} ${values}`, index)
      else {
        const message = `It has the same ${fields} as ${list}[${first}]`
        context.addIssue({ code: 'custom', path: [index], message })
      }
    }
  }
}
