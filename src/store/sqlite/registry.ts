import type { Application, ApplicationKey } from '../../domain/application.ts'
import type { Registry } from '../../domain/store.ts'
import type { Suite } from '../../domain/suite.ts'
import type { Context } from './context.ts'
import * as sql from './statements/tokens.ts'

/** What requests for tokens and checks need of the registry, from a cache. */
export function createCachedRegistry({ db, changes, reader }: Pick<Context, 'db' | 'changes' | 'reader'>) {
  const find = <Row>(statement: string) => {
    const select = db.prepare<[string], string>(statement).pluck()
    return changes.cached('registry', (id: string): Row | undefined => {
      const json = select.get(id)
      return json === undefined ? undefined : JSON.parse(json)
    })
  }
  const findApplication = find<Application>(sql.findApplication)
  const findSuite = find<Suite>(sql.findSuite)
  const findClientId = db.prepare<[ApplicationKey], string>(sql.findClientId).pluck()
  const applicationOf = changes.cached('registry', (key: ApplicationKey) => {
    const clientId = findClientId.get(key)
    return clientId === undefined ? undefined : findApplication(clientId)
  })
  const selectImportedSecrets = db.prepare<[], number>(sql.mostImportedSecrets).pluck()
  const mostImportedSecrets = changes.cachedValue('registry', () => selectImportedSecrets.get() as number)
  const readImportedSecrets = reader((_: undefined) => mostImportedSecrets())

  const registry: Pick<Registry, 'findApplication' | 'findSuite' | 'mostImportedSecrets'> = {
    findApplication: reader(findApplication),
    findSuite: reader(findSuite),
    mostImportedSecrets: () => readImportedSecrets(undefined),
  }
  /** `applicationOf` finds an application by the key that its tokens have; throws an SqliteError. */
  return { registry, applicationOf }
}
