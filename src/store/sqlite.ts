import { statSync } from 'node:fs'
import Database from 'better-sqlite3'
import type { Application, NewApplication } from '../issuer/application.ts'
import { type Store, StoreUnavailable } from '../issuer/store.ts'
import type { NewSuite, Suite } from '../issuer/suite.ts'
import { createGroupCommit } from './group-commit.ts'
import { createMemory } from './memory.ts'
import { openDatabase } from './sqlite-database.ts'
import * as sql from './sqlite-statements.ts'

/**
 * Opens a SQLite file (or `:memory:`) as a migrated store. The file is made where there is none, readable by its
 * owner only. `busyTimeout`, in milliseconds, is how long a call may block the process for another process's lock.
 */
export function openSqlite(path: string, { busyTimeout }: { busyTimeout: number }): Store & Migrated {
  const { db, migrated } = openDatabase(path)
  db.pragma(`busy_timeout = ${busyTimeout}`)
  const files = db.memory ? [] : [path, `${path}-wal`, `${path}-shm`].map((file) => ({ file, inode: inodeOf(file) }))

  // SQLite goes on with files that were deleted or replaced: what it commits is lost, what others commit unseen.
  function assertInPlace(): void {
    for (const { file, inode } of files) {
      if (inodeOf(file) !== inode) throw new StoreUnavailable(`the file ${file} was removed or replaced`)
    }
  }

  const memory = createMemory(db, { assertInPlace })
  const jsonOf = (statement: string) => {
    const select = db.prepare(statement).pluck()
    return (key: string) => {
      const json = select.get(key) as string | undefined
      return json === undefined ? undefined : JSON.parse(json)
    }
  }
  const findApplication = memory.hold<string, Application>(jsonOf(sql.findApplication))
  const findSuite = memory.hold<string, Suite>(jsonOf(sql.findSuite))
  const findClientId = db.prepare(sql.findClientId).pluck()
  const findApplicationById = memory.hold((id: number) => {
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
  const hasImportedSecrets = db.prepare(sql.hasImportedSecrets).pluck()
  const insertToken = db.prepare(sql.insertToken)
  const findToken = db.prepare(sql.findToken)
  const deleteToken = db.prepare(sql.deleteToken)
  const purgeTokens = db.prepare(sql.purgeTokens)
  const check = db.prepare(sql.check)

  /** Does one thing to the database; says StoreUnavailable when the database could not. */
  async function attempt<T>(action: () => T): Promise<T> {
    try {
      return action()
    } catch (error) {
      throw asUnavailable(error)
    }
  }

  /** Changes applications, suites and secrets, in one transaction. */
  function change<T>(action: () => T): Promise<T> {
    memory.forget()
    return attempt(db.transaction(action).immediate)
  }

  const writeAll = db.transaction((writes: (() => void)[]) => {
    for (const write of writes) write()
  }).immediate
  const tokens = createGroupCommit((writes) => {
    assertInPlace()
    writeAll(writes)
  }, isBusy)

  /** Changes tokens, together with all others of this turn. */
  async function commit(write: () => void): Promise<void> {
    try {
      await tokens.add(write)
    } catch (error) {
      throw asUnavailable(error)
    }
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

  return {
    migrated,

    findApplication: (clientId) => attempt(() => findApplication(clientId)),
    findApplicationById: (id) => attempt(() => findApplicationById(id)),
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
    hasImportedSecrets: () => attempt(() => hasImportedSecrets.get() === 1),

    addToken: (token) => commit(() => insertToken.run(token.id, token.secretHash, token.applicationId, token.issuedAt)),

    findToken: (id) =>
      attempt(() => {
        memory.assertCurrent()
        const row = findToken.get(id) as TokenRow | undefined
        return row && { id, secretHash: row.secret_hash, applicationId: row.application_id, issuedAt: row.issued_at }
      }),

    revokeToken: (id) => commit(() => deleteToken.run(id)),
    purgeTokens: (beforeId, limit) => attempt(() => purgeTokens.run(beforeId, limit).changes),

    check: () =>
      attempt(() => {
        assertInPlace()
        check.get()
      }),

    close: () => attempt(() => void db.close()),
  }
}

/** What opening the store did to its schema. */
export interface Migrated {
  migrated: { from: number; to: number }
}

interface TokenRow {
  secret_hash: Buffer
  application_id: number
  issued_at: number
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

function inodeOf(file: string): number | undefined {
  return statSync(file, { throwIfNoEntry: false })?.ino
}

function isBusy(error: unknown): boolean {
  return error instanceof Database.SqliteError && error.code.startsWith('SQLITE_BUSY')
}

function asUnavailable(error: unknown): unknown {
  if (!(error instanceof Database.SqliteError)) return error
  return new StoreUnavailable(`the database answered ${error.code}`, { cause: error })
}
