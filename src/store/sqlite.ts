import { statSync } from 'node:fs'
import Database from 'better-sqlite3'
import type { Application, NewApplication } from '../issuer/application.ts'
import { type Store, StoreUnavailable } from '../issuer/store.ts'
import type { StoredToken } from '../issuer/token.ts'
import { createApplicationMemory } from './application-memory.ts'
import { createGroupCommit } from './group-commit.ts'
import { openDatabase } from './sqlite-database.ts'
import * as sql from './sqlite-statements.ts'

/**
 * Opens a SQLite file (or `:memory:`) as a migrated store. The file is made where there is none, readable by its
 * owner only. `busyTimeout`, in milliseconds, is how long a call may block the process for another process's lock.
 */
export function openSqlite(path: string, { busyTimeout }: { busyTimeout: number }): Store & Migrated {
  const { db, migrated } = openDatabase(path)
  db.pragma(`busy_timeout = ${busyTimeout}`)
  const inode = db.memory ? undefined : statSync(path).ino

  // SQLite goes on writing to a file that was deleted or replaced: what it then commits is lost.
  function assertFileInPlace(): void {
    if (inode !== undefined && statSync(path, { throwIfNoEntry: false })?.ino !== inode) {
      throw new StoreUnavailable('the database file was removed or replaced')
    }
  }

  const findApplication = db.prepare(sql.findApplication).pluck()
  const applications = createApplicationMemory(db, (clientId) => {
    const json = findApplication.get(clientId) as string | undefined
    return json === undefined ? undefined : JSON.parse(json)
  })
  const listClientIds = db.prepare(sql.listClientIds).pluck()
  const insertApplication = db.prepare(sql.insertApplication)
  const insertSecret = db.prepare(sql.insertSecret)
  const setStatus = db.prepare(sql.setStatus)
  const deleteApplication = db.prepare(sql.deleteApplication)
  const revokeTokens = db.prepare(sql.revokeTokens)
  const forgetEndedSecrets = db.prepare(sql.forgetEndedSecrets)
  const endSecrets = db.prepare(sql.endSecrets)
  const insertSecretOf = db.prepare(sql.insertSecretOf)
  const endSecret = db.prepare(sql.endSecret)
  const hasImportedSecrets = db.prepare(sql.hasImportedSecrets).pluck()
  const insertToken = db.prepare(sql.insertToken)
  const findToken = db.prepare(sql.findToken)
  const purgeTokens = db.prepare(sql.purgeTokens)
  const check = db.prepare(sql.check)

  const insertTokens = db.transaction((tokens: StoredToken[]) => {
    for (const token of tokens) insertToken.run(token.id, token.secretHash, token.applicationId, token.issuedAt)
  }).immediate
  const tokens = createGroupCommit<StoredToken>((group) => {
    assertFileInPlace()
    insertTokens(group)
  }, isBusy)

  /** Does one thing to the database; says StoreUnavailable when the database could not. */
  async function attempt<T>(action: () => T): Promise<T> {
    try {
      return action()
    } catch (error) {
      throw asUnavailable(error)
    }
  }

  /** Changes applications and their secrets, in one transaction. */
  function change<T>(action: () => T): Promise<T> {
    applications.forget()
    return attempt(db.transaction(action).immediate)
  }

  return {
    migrated,

    findApplication: (clientId) => attempt(() => applications.find(clientId)),

    listApplications: () =>
      attempt(
        db.transaction(() =>
          (listClientIds.all() as string[]).map((clientId) => applications.find(clientId) as Application),
        ),
      ),

    addApplications: (newcomers) =>
      change(() =>
        newcomers.filter((application) => {
          const { changes, lastInsertRowid } = insertApplication.run(toRow(application))
          if (changes === 0) return false
          insertSecret.run(lastInsertRowid, application.secret.digest, application.secret.createdAt)
          return true
        }),
      ),

    setStatus: (clientId, status) => change(() => setStatus.run(status, clientId).changes > 0),
    removeApplication: (clientId) => change(() => deleteApplication.run(clientId).changes > 0),
    revokeTokens: (clientId, issuedBefore) => change(() => revokeTokens.run(issuedBefore, clientId).changes > 0),

    rotateSecret: (clientId, secret, endOthersAt, forgetBefore) =>
      change(() => {
        forgetEndedSecrets.run(forgetBefore, clientId)
        endSecrets.run(endOthersAt, clientId)
        return insertSecretOf.run(secret.digest, secret.createdAt, clientId).changes > 0
      }),

    endSecret: (clientId, secretId, endsAt) => change(() => endSecret.run(endsAt, secretId, clientId).changes > 0),

    hasImportedSecrets: () => attempt(() => hasImportedSecrets.get() === 1),

    addToken: (token) =>
      tokens.add(token).catch((error) => {
        throw asUnavailable(error)
      }),

    findToken: (id) =>
      attempt(() => {
        const row = findToken.get(id) as TokenRow | undefined
        return row && { id, secretHash: row.secret_hash, applicationId: row.application_id, issuedAt: row.issued_at }
      }),

    purgeTokens: (beforeId, limit) => attempt(() => purgeTokens.run(beforeId, limit).changes),

    check: () =>
      attempt(() => {
        assertFileInPlace()
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

function isBusy(error: unknown): boolean {
  return error instanceof Database.SqliteError && error.code.startsWith('SQLITE_BUSY')
}

function asUnavailable(error: unknown): unknown {
  if (!(error instanceof Database.SqliteError)) return error
  return new StoreUnavailable(`the database answered ${error.code}`, { cause: error })
}
