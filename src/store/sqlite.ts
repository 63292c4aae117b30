import { statSync } from 'node:fs'
import Database from 'better-sqlite3'
import type { Application, NewApplication } from '../issuer/application.ts'
import type { Secret } from '../issuer/secret.ts'
import { type Store, StoreUnavailable } from '../issuer/store.ts'
import type { StoredToken } from '../issuer/token.ts'
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

  const findApplication = db.prepare(sql.findApplication)
  const listApplications = db.prepare(sql.listApplications)
  const listSecrets = db.prepare(sql.listSecrets)
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

  /** Changes one application's row; says whether there was one. */
  const change = (statement: Database.Statement, ...values: unknown[]) =>
    attempt(() => statement.run(...values).changes > 0)

  return {
    migrated,

    findApplication: (clientId) =>
      attempt(() => {
        const rows = findApplication.all(clientId) as ApplicationAndSecretRow[]
        const [first] = rows
        return first && toApplication(first, rows[0]?.secret_id === null ? [] : rows.map(toSecret))
      }),

    listApplications: () =>
      attempt(
        db.transaction(() => {
          const secrets = Map.groupBy(listSecrets.all() as SecretRow[], (row) => row.application_id)
          return (listApplications.all() as ApplicationRow[]).map((row) =>
            toApplication(row, (secrets.get(row.id) ?? []).map(toSecret)),
          )
        }),
      ),

    addApplications: (applications) =>
      attempt(
        db.transaction(() =>
          applications.filter((application) => {
            const { changes, lastInsertRowid } = insertApplication.run(toRow(application))
            if (changes === 0) return false
            insertSecret.run(lastInsertRowid, application.secret.digest, application.secret.createdAt)
            return true
          }),
        ).immediate,
      ),

    setStatus: (clientId, status) => change(setStatus, status, clientId),
    removeApplication: (clientId) => change(deleteApplication, clientId),
    revokeTokens: (clientId, issuedBefore) => change(revokeTokens, issuedBefore, clientId),

    rotateSecret: (clientId, secret, endOthersAt, forgetBefore) =>
      attempt(
        db.transaction(() => {
          forgetEndedSecrets.run(forgetBefore, clientId)
          endSecrets.run(endOthersAt, clientId)
          return insertSecretOf.run(secret.digest, secret.createdAt, clientId).changes > 0
        }).immediate,
      ),

    endSecret: (clientId, secretId, endsAt) => change(endSecret, endsAt, secretId, clientId),
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

interface ApplicationRow {
  id: number
  client_id: string
  name: string
  developer_email: string
  status: Application['status']
  tokens_valid_from: number
  created_at: number
}

interface SecretRow {
  secret_id: number
  application_id: number
  digest: string
  secret_created_at: number
  ends_at: number | null
}

type ApplicationAndSecretRow = ApplicationRow & SecretRow

interface TokenRow {
  secret_hash: Buffer
  application_id: number
  issued_at: number
}

function toApplication(row: ApplicationRow, secrets: Secret[]): Application {
  return {
    id: row.id,
    clientId: row.client_id,
    name: row.name,
    developerEmail: row.developer_email,
    status: row.status,
    tokensValidFrom: row.tokens_valid_from,
    createdAt: row.created_at,
    secrets,
  }
}

function toSecret(row: SecretRow): Secret {
  return { id: row.secret_id, digest: row.digest, createdAt: row.secret_created_at, endsAt: row.ends_at }
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
