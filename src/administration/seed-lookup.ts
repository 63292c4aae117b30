import type { Application } from '../domain/application.ts'
import type { Store } from '../domain/store.ts'
import type { Registration } from './applications.ts'

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
export function createSeedLookup(store: Store, file: readonly Registration[]) {
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

/** What tells an application without a client id from others, in the store and in a seed file. */
export function nameAndDeveloper({ name, developerEmail }: Pick<Registration, 'name' | 'developerEmail'>): string {
  return JSON.stringify([name, developerEmail])
}
