import type { Application } from '../domain/application.ts'
import { OperatorError } from '../domain/operator-error.ts'
import { NOT_SHOWN_YET, type Secret } from '../domain/secret.ts'
import type { Store } from '../domain/store.ts'
import { type Suite, unknownSuite } from '../domain/suite.ts'
import type { Registration } from './applications.ts'
import { allPages, chunksOf } from './pages.ts'
import { takenId } from './rules.ts'
import { createSeedLookup, nameAndDeveloper } from './seed-lookup.ts'
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
  /** Registered by a run that ended before it had shown their secrets: they need others. All have a client id. */
  unfinished: Seeds
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
    unfinished: { suites: [], applications: [] },
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
    else if (isUnfinished(suite)) plan.unfinished.suites.push(entry)
    else plan.existing++
    if (suite && suite.name !== entry.name) plan.renamed.push({ entry, suite })
  }

  const suiteIds = new Set([...suites.keys(), ...seeds.suites.map(({ suiteId }) => suiteId)])
  const lookUp = createSeedLookup(store, seeds.applications)
  let at = 0
  for (const chunk of chunksOf(seeds.applications, LOOK_UPS)) {
    for (const { entry, existing, namesake } of await lookUp(chunk)) {
      const place = `applications[${at++}]`
      if (existing) {
        if (isUnfinished(existing)) plan.unfinished.applications.push({ ...entry, clientId: existing.clientId })
        else plan.existing++
        if (nameAndDeveloper(entry) !== nameAndDeveloper(existing))
          plan.differing.push({ entry, application: existing })
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
export function seedProblems(file: string, problems: string[]): OperatorError {
  return new OperatorError(`Nothing was changed. Problems in ${file}:\n  ${problems.join('\n  ')}`)
}

function isUnfinished({ secrets }: { secrets: readonly Secret[] }): boolean {
  return secrets.length > 0 && secrets.every(({ endsAt }) => endsAt === NOT_SHOWN_YET)
}
