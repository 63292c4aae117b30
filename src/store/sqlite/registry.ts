import type { Database } from 'better-sqlite3'
import type { Application, NewApplication } from '../../domain/application.ts'
import type { Store } from '../../domain/store.ts'
import type { NewSuite, Suite } from '../../domain/suite.ts'
import type { Memory } from './cache.ts'
import type { Attempt } from './retry-locked.ts'
import * as sql from './statements.ts'

interface Options {
  db: Database
  memory: Memory
  attempt: Attempt
  sync: () => Promise<void>
}

type Registry = Omit<Store, `${string}Token` | `${string}Tokens` | 'check' | 'close'> & Pick<Store, 'revokeTokens'>

/** The registry in SQLite: applications, suites, their secrets and approvals. */
export function createRegistry({ db, memory, attempt, sync }: Options) {
  const jsonOf = (statement: string) => {
    const select = db.prepare(statement).pluck()
    return (key: string) => {
      const json = select.get(key) as string | undefined
      return json === undefined ? undefined : JSON.parse(json)
    }
  }
  const findApplication = memory.hold<string, Application>('registry', jsonOf(sql.findApplication))
  const findSuite = memory.hold<string, Suite>('registry', jsonOf(sql.findSuite))
  const findClientId = db.prepare(sql.findClientId).pluck()
  const applicationOf = memory.hold('registry', (id: number) => {
    const clientId = findClientId.get(id) as string | undefined
    return clientId === undefined ? undefined : findApplication(clientId)
  })
  const listClientIds = db.prepare(sql.listClientIds).pluck()
  const listSuiteIds = db.prepare(sql.listSuiteIds).pluck()

  const insertApplication = db.prepare(sql.insertApplication)
  const insertSuite = db.prepare(sql.insertSuite)
  const insertSecret = db.prepare(sql.insertSecret)
  const setStatus = db.prepare(sql.setStatus)
  const deleteApplication = db.prepare(sql.deleteApplication)
  const deleteSuite = db.prepare(sql.deleteSuite)
  const approve = db.prepare(sql.approve)
  const approveForAll = db.prepare(sql.approveForAll)
  const withdraw = db.prepare(sql.withdraw)
  const revokeTokens = db.prepare(sql.revokeTokens)
  const forgetEndedSecrets = db.prepare(sql.forgetEndedSecrets)
  const endSecrets = db.prepare(sql.endSecrets)
  const endSecret = db.prepare(sql.endSecret)
  const selectImportedSecrets = db.prepare(sql.hasImportedSecrets).pluck()
  const hasImportedSecrets = memory.hold('registry', (_: 'any') => selectImportedSecrets.get() === 1)

  /** Makes one change, in one transaction. */
  async function change<T>(action: () => T): Promise<T> {
    const transact = db.transaction(action).immediate
    const result = await attempt(() => {
      memory.forget('registry')
      return transact()
    })
    await sync()
    return result
  }

  function add(application: NewApplication): boolean {
    const { clientId: owner, secret, suites } = application
    if (insertApplication.run(toRow(application)).changes === 0) return false
    insertSecret.run({ owner, digest: secret.digest, created_at: secret.createdAt })
    if (suites === 'all') approveForAll.run(owner)
    else for (const suiteId of suites) approve.run(owner, suiteId)
    return true
  }

  function addSuite({ suiteId, name, createdAt, secret }: NewSuite): boolean {
    if (insertSuite.run({ suite_id: suiteId, name, created_at: createdAt }).changes === 0) return false
    insertSecret.run({ owner: suiteId, digest: secret.digest, created_at: secret.createdAt })
    return true
  }

  const registry: Registry = {
    findApplication: (clientId) => attempt(() => findApplication(clientId)),
    listApplications: () =>
      attempt(db.transaction(() => (listClientIds.all() as string[]).map(findApplication) as Application[])),
    findSuite: (suiteId) => attempt(() => findSuite(suiteId)),
    listSuites: () => attempt(db.transaction(() => (listSuiteIds.all() as string[]).map(findSuite) as Suite[])),

    register: ({ suites, applications }) =>
      change(() => ({ suites: suites.filter(addSuite), applications: applications.filter(add) })),

    setStatus: (clientId, status) => change(() => setStatus.run(status, clientId).changes > 0),
    removeApplication: (clientId) => change(() => deleteApplication.run(clientId).changes > 0),
    removeSuite: (suiteId) => change(() => deleteSuite.run(suiteId).changes > 0),
    approve: (clientId, suiteId) => change(() => void approve.run(clientId, suiteId)),
    withdraw: (clientId, suiteId) => change(() => void withdraw.run(clientId, suiteId)),
    revokeTokens: (clientId, issuedBefore) => change(() => revokeTokens.run(issuedBefore, clientId).changes > 0),

    rotateSecret: (owner, secret, endOthersAt, forgetBefore) =>
      change(() => {
        forgetEndedSecrets.run({ owner, forget_before: forgetBefore })
        endSecrets.run({ owner, ends_at: endOthersAt })
        return insertSecret.run({ owner, digest: secret.digest, created_at: secret.createdAt }).changes > 0
      }),

    endSecret: (owner, id, endsAt) => change(() => endSecret.run({ owner, id, ends_at: endsAt }).changes > 0),
    hasImportedSecrets: () => attempt(() => hasImportedSecrets('any') === true),
  }
  /** `applicationOf` finds an application by the id that its tokens have; throws an SqliteError. */
  return { registry, applicationOf }
}

function toRow(application: NewApplication) {
  return {
    client_id: application.clientId,
    name: application.name,
    developer_email: application.developerEmail,
    created_at: application.createdAt,
    unique_name: application.uniqueName ? 1 : 0,
  }
}
