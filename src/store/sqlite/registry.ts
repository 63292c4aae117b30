import type { Application, ApplicationKey, ApplicationNames, NewApplication } from '../../domain/application.ts'
import type { Audit } from '../../domain/audit-event.ts'
import type { NewSecret } from '../../domain/secret.ts'
import type { Registry } from '../../domain/store.ts'
import type { NewSuite, Suite } from '../../domain/suite.ts'
import { ACTIONS, type AuditSubject, ofApplication, ofOwner, ofRegistration, ofSuite } from '../audited.ts'
import type { AuditedChange } from './audit.ts'
import type { Context } from './context.ts'
import * as sql from './statements/registry.ts'

/** Keys that no row has: ids begin with 1. */
const BEFORE_THE_FIRST = 0
const AFTER_THE_LAST = Number.MAX_SAFE_INTEGER

type NamesRow = [
  key: ApplicationKey,
  clientId: string,
  name: string,
  developerEmail: string,
  status: Application['status'],
]

interface Options extends Pick<Context, 'db' | 'changes' | 'reader' | 'read'> {
  audited: AuditedChange
  /** Throws OperatorError where the registry must not change. */
  assertNotMoved: () => void
}

/** The registry in SQLite: applications, suites, their secrets and approvals. */
export function createRegistry({ db, changes, reader, read, audited, assertNotMoved }: Options) {
  const find = <Row>(statement: string) => {
    const select = db.prepare(statement).pluck()
    return (id: string) => {
      const json = select.get(id) as string | undefined
      return json === undefined ? undefined : parse<Row>(json)
    }
  }
  const list = <Row>(statement: string) => {
    const select = db.prepare(statement).pluck()
    return (...parameters: unknown[]) =>
      read(() => (select.all(...parameters) as string[]).map((json) => parse<Row>(json)))
  }
  const findApplication = changes.cached('registry', find<Application>(sql.findApplication))
  const findSuite = changes.cached('registry', find<Suite>(sql.findSuite))
  const findClientId = db.prepare(sql.findClientId).pluck()
  const applicationOf = changes.cached('registry', (key: ApplicationKey) => {
    const clientId = findClientId.get(key) as string | undefined
    return clientId === undefined ? undefined : findApplication(clientId)
  })
  const listApplications = list<Application>(sql.listApplications)
  const listApplicationsOf = list<Application>(sql.listApplicationsOf)
  const listApprovedApplications = list<Application>(sql.listApprovedApplications)
  const countApproved = db.prepare(sql.countApproved).pluck()
  const listSuites = list<Suite>(sql.listSuites)
  const selectNames = db.prepare<unknown[], NamesRow>(sql.listNames).raw()
  const findNamesakes = list<Application>(sql.findNamesakes)
  const countApplications = db.prepare(sql.countApplications).pluck()
  const selectImportedSecrets = db.prepare(sql.mostImportedSecrets).pluck()
  const mostImportedSecrets = changes.cachedValue('registry', () => selectImportedSecrets.get() as number)
  const readImportedSecrets = reader((_: undefined) => mostImportedSecrets())

  const insertApplication = db.prepare(sql.insertApplication)
  const insertSuite = db.prepare(sql.insertSuite)
  const insertSecret = db.prepare(sql.insertSecret)
  const setStatus = db.prepare(sql.setStatus)
  const updateApplication = db.prepare(sql.updateApplication)
  const updateSuite = db.prepare(sql.updateSuite)
  const deleteApplication = db.prepare(sql.deleteApplication)
  const deleteSuite = db.prepare(sql.deleteSuite)
  const approve = db.prepare(sql.approve)
  const approveForAll = db.prepare(sql.approveForAll)
  const withdraw = db.prepare(sql.withdraw)
  const revokeTokens = db.prepare(sql.revokeTokens)
  const deleteEndedSecrets = db.prepare(sql.deleteEndedSecrets)
  const endSecrets = db.prepare(sql.endSecrets)
  const revokeSecret = db.prepare(sql.revokeSecret)
  const revokeSpareSecret = db.prepare(sql.revokeSpareSecret)

  /** Makes a change in one transaction with its audit events. Rejects with OperatorError once the store has moved. */
  function change<Result>(audit: Audit, subjects: readonly AuditSubject[], action: () => Result): Promise<Result> {
    return audited(audit, subjects, () => {
      assertNotMoved()
      return action()
    })
  }

  function addApplication(application: NewApplication): boolean {
    const { clientId: owner, secret, suites } = application
    if (insertApplication.run(toRow(application)).changes === 0) return false
    addSecret(owner, secret)
    if (suites === 'all') approveForAll.run(owner)
    else for (const suiteId of suites) approve.run(owner, suiteId)
    return true
  }

  function addSuite({ suiteId, name, createdAt, secret }: NewSuite): boolean {
    if (insertSuite.run({ suite_id: suiteId, name, created_at: createdAt }).changes === 0) return false
    return addSecret(suiteId, secret)
  }

  function addSecret(owner: string, { digest, createdAt, endsAt = null }: NewSecret): boolean {
    return insertSecret.run({ owner, digest, created_at: createdAt, ends_at: endsAt }).changes > 0
  }

  const registry: Registry = {
    findApplication: reader(findApplication),
    findSuite: reader(findSuite),
    mostImportedSecrets: () => readImportedSecrets(undefined),
    listApplications: ({ after = BEFORE_THE_FIRST, limit }) => listApplications(after, limit),
    listApplicationsOf: (keys) => listApplicationsOf(JSON.stringify(keys)),
    listApprovedApplications: (suiteId, { after = BEFORE_THE_FIRST, limit }) =>
      listApprovedApplications(suiteId, after, limit),
    countApproved: (suiteIds, limit) =>
      read(() => countApproved.all({ suite_ids: JSON.stringify(suiteIds), limit }) as number[]),
    listNames: ({ after = AFTER_THE_LAST, limit }) => read(() => selectNames.all(after, limit).map(toNames)),
    findNamesakes: (names) => findNamesakes(JSON.stringify(names)),
    countApplications: () => read(() => countApplications.get() as number),
    listSuites: ({ after = BEFORE_THE_FIRST, limit }) => listSuites(after, limit),

    register: (newcomers, audit) =>
      change(audit, ofRegistration(newcomers), () => ({
        suites: newcomers.suites.filter(addSuite),
        applications: newcomers.applications.filter(addApplication),
      })),

    updateApplication: (clientId, { name = null, developerEmail = null }, audit) =>
      change(
        audit,
        ofApplication('application updated', clientId),
        () => updateApplication.run({ client_id: clientId, name, developer_email: developerEmail }).changes > 0,
      ),
    setStatus: (clientId, status, audit) =>
      change(audit, ofApplication(ACTIONS[status], clientId), () => setStatus.run(status, clientId).changes > 0),
    removeApplication: (clientId, audit) =>
      change(audit, ofApplication('application removed', clientId), () => deleteApplication.run(clientId).changes > 0),
    updateSuite: (suiteId, { name }, audit) =>
      change(audit, ofSuite('suite updated', suiteId), () => updateSuite.run({ suite_id: suiteId, name }).changes > 0),
    removeSuite: (suiteId, audit) =>
      change(audit, ofSuite('suite removed', suiteId), () => deleteSuite.run(suiteId).changes > 0),
    approve: (clientId, suiteId, audit) =>
      change(audit, ofApplication('application approved', clientId), () => void approve.run(clientId, suiteId)),
    withdraw: (clientId, suiteId, audit) =>
      change(audit, ofApplication('approval withdrawn', clientId), () => void withdraw.run(clientId, suiteId)),
    revokeTokens: (clientId, at, audit) =>
      change(audit, ofApplication('all tokens revoked', clientId), () => revokeTokens.run(at, clientId).changes > 0),

    addSecret: (owner, secret, audit) => change(audit, ofOwner('secret added', owner), () => addSecret(owner, secret)),

    rotateSecret: (owner, secret, endOthersAt, deleteEndedBefore, audit) =>
      change(audit, ofOwner('secret rotated', owner), () => {
        deleteEndedSecrets.run({ owner, ended_before: deleteEndedBefore })
        endSecrets.run({ owner, ends_at: endOthersAt })
        return addSecret(owner, secret)
      }),

    revokeSecret: (owner, id, at, audit) =>
      change(audit, ofOwner('secret revoked', owner), () => revokeSecret.run({ owner, id, at }).changes > 0),

    revokeSpareSecret: (owner, id, at, audit) =>
      change(audit, ofOwner('secret revoked', owner), () => revokeSpareSecret.run({ owner, id, at }).changes > 0),
  }
  /** `applicationOf` finds an application by the key that its tokens have; throws an SqliteError. */
  return { registry, applicationOf }
}

/** A row that the database has made JSON of, under the names that the domain has for its columns. */
function parse<Row>(json: string): Row {
  return JSON.parse(json)
}

function toNames([key, clientId, name, developerEmail, status]: NamesRow): ApplicationNames {
  return { key, clientId, name, developerEmail, status }
}

function toRow(application: NewApplication) {
  return {
    client_id: application.clientId,
    name: application.name,
    developer_email: application.developerEmail,
    created_at: application.createdAt,
    skip_namesake: application.skipNamesake ? 1 : 0,
  }
}
