import type { AuditHead } from '../domain/audit-chain.ts'
import type { Issuer } from '../domain/federation.ts'
import type { Undelivered } from '../domain/notice.ts'
import type { EndingSecret } from '../domain/statistics.ts'
import { VERSION } from '../version.ts'
import { assertMayRun } from './migrations.ts'
import { listIssuers } from './shared/issuers.ts'
import { findAuditHead } from './shared/statements/audit.ts'
import * as sql from './shared/statements/figures.ts'
import { undeliveredNotices } from './shared/statements/notices.ts'
import { type Ask, toObjects } from './shared/work.ts'

/** A size in bytes that SQLite's write-ahead log does not reach while checkpoints work. */
export const LARGE_LOG = 64 * 1024 ** 2

/** The size of the log, in bytes, at which changes are refused: 64 times the normal size. Each start has to read all of it. */
export const FULL_LOG = 1024 ** 3

/**
 * A read-only view of a store: it creates, migrates and locks nothing, and works with other versions' schemas too.
 * Its methods reject with StoreUnavailable or the driver's error.
 */
export interface Inspector {
  /** The database and its version: `SQLite 3.54.1`. */
  software(): Promise<string>
  schema(): Promise<Schema>
  /** Rejects with StoreUnavailable if commits wait forever. */
  assertNotStuck(): Promise<void>
  /** Undefined if the store was not copied. */
  move(): Promise<Move | undefined>
  /** How far the store's clock is ahead of this process's, in milliseconds. */
  clockOffset(): Promise<number>
  /** The settings of the database, as `name=value`, with which a crash or a failover can lose committed changes. */
  riskySettings(): Promise<string[]>
  /** When the oldest and the newest stored token were issued; undefined if there are no tokens. */
  tokens(): Promise<{ oldestAt: number; newestAt: number } | undefined>
  /** Suites, and applications that are not suspended, without a secret that is valid after this time; by kind and id. */
  ownersWithoutSecret(at: number): Promise<SecretOwner[]>
  /** Works only with this program's schema. */
  operators(): Promise<OperatorKeys[]>
  /** Works only with this program's schema. Undefined if none was refused. */
  lastRefusedSignIn(): Promise<{ at: number; why: string } | undefined>
  /** Works only with this program's schema. Undefined if no notice waits. */
  undelivered(): Promise<Undelivered | undefined>
  /** The issuers whose keys verify federated credentials. Works only with this program's schema. */
  issuers(at: number): Promise<Issuer[]>
  /** Works only with this program's schema. Undefined if no audit event is chained. */
  auditHead(): Promise<AuditHead | undefined>
  /** When `token-server backup` last made a backup; undefined if never. */
  lastBackupAt(): Promise<number | undefined>
  close(): void
}

export interface Schema {
  /** 0 if there is none yet. */
  version: number
  /** The version that this program migrates to. */
  latest: number
  /** Why this program may not use it; undefined if it may. */
  refusal: string | undefined
}

export interface Move {
  place: string
  beganAt: number
  /** Null if the copy is not complete. */
  copiedAt: number | null
}

export interface SecretOwner extends Pick<EndingSecret, 'kind' | 'id' | 'name'> {
  /** The latest end of its secrets; null if it has none. */
  endsAt: number | null
}

export interface OperatorKeys {
  name: string
  /** The latest end of the admin keys that were not revoked; null if there are none. */
  lastKeyEndsAt: number | null
}

/** A file or a folder; sizes in bytes. */
export interface FileInfo {
  path: string
  size: number
  uid: number
  gid: number
  /** The permissions, as in chmod. */
  mode: number
  isFolder: boolean
}

/** The files of a SQLite store; undefined if it does not exist. */
export interface StoreFiles {
  folder: FileInfo | undefined
  database: FileInfo | undefined
  /** The write-ahead log. */
  log: FileInfo | undefined
  /** The index of the log, which exists while a process has the database open. */
  index: FileInfo | undefined
  /** Whether an fsync of the log failed, and its data has not been recovered yet. */
  isUnsound: boolean
}

/** Whether this program may use a schema. `isForeign` means that the tables belong to another program. */
export function judgeSchema(
  found: { version: number; latest: number; oldestProgram: string | undefined },
  { isForeign }: { isForeign: boolean },
): Schema {
  const { version, latest } = found
  if (isForeign) return { version, latest, refusal: 'The database has tables of another program.' }
  try {
    if (version > latest) assertMayRun({ ...found, program: VERSION })
    return { version, latest, refusal: undefined }
  } catch (error) {
    return { version, latest, refusal: (error as Error).message }
  }
}

export function createSharedInspector(ask: Ask) {
  return {
    async tokens() {
      const [oldest] = await ask<[issuedAt: number]>(sql.oldestTokenAt)
      const [newest] = await ask<[issuedAt: number]>(sql.newestTokenAt)
      return oldest && newest && { oldestAt: oldest[0], newestAt: newest[0] }
    },

    async ownersWithoutSecret(at) {
      return toObjects<SecretOwner>(await ask(sql.listOwnersWithoutSecret, [at]), 'kind', 'id', 'name', 'endsAt')
    },

    operators: async () => toObjects<OperatorKeys>(await ask(sql.listOperatorKeys), 'name', 'lastKeyEndsAt'),

    async lastRefusedSignIn() {
      return toObjects<{ at: number; why: string }>(await ask(sql.lastRefusedSignIn), 'at', 'why')[0]
    },

    issuers: (at) => listIssuers(ask, at),

    async undelivered() {
      return toObjects<Undelivered>(await ask(undeliveredNotices), 'at', 'attempts', 'problem', 'count')[0]
    },

    auditHead: async () => toObjects<AuditHead>(await ask(findAuditHead), 'id', 'at', 'hash')[0],
  } satisfies Partial<Inspector>
}
