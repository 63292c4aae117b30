import { VERSION } from '../version.ts'
import { assertMayRun } from './migrations.ts'
import * as sql from './shared/statements/figures.ts'

/** How large SQLite's write-ahead log may be, in bytes: from the first on it is larger than where checkpoints work. */
export const LARGE_LOG = 64 * 1024 ** 2

/** From here on nothing is written: 64 times a normal log; a start has to read it all. */
export const FULL_LOG = 1024 ** 3

/**
 * A store as one looks at it who changes nothing: nothing is made, migrated or locked, so it may be of another version, too.
 * Times are milliseconds since the epoch. Its methods reject with StoreUnavailable, or what the driver says.
 */
export interface Inspector {
  /** What keeps the store, with its version: `SQLite 3.54.1`. */
  software(): Promise<string>
  schema(): Promise<Schema>
  /** Where the store was copied to; undefined: it was not. */
  move(): Promise<Move | undefined>
  /** By how many milliseconds the store's clock is ahead of this process's. */
  clockOffset(): Promise<number>
  /** When the oldest and the newest token that are still stored were issued; undefined: there is none. */
  tokens(): Promise<{ oldestAt: number; newestAt: number } | undefined>
  /** The applications that are not suspended, and the suites, that have no secret from this time on, by their ids. */
  ownersWithoutSecret(at: number): Promise<SecretOwner[]>
  /** The operators and their keys. Requires the schema of this program. */
  operators(): Promise<OperatorKeys[]>
  /** When `token-server backup` last made a backup; undefined: never. */
  lastBackupAt(): Promise<number | undefined>
  close(): void
}

export interface Schema {
  /** 0: there is none yet. */
  version: number
  /** The version that this program migrates it to. */
  latest: number
  /** Why this program may not run on it; undefined: it may. */
  refusal: string | undefined
}

export interface Move {
  place: string
  beganAt: number
  /** Null: the copy has not ended yet, or never will. */
  copiedAt: number | null
}

export interface SecretOwner {
  kind: 'application' | 'suite'
  /** The client id, or the id of the suite. */
  id: string
  name: string
  /** When the last of its secrets ends or has ended; null: it has none. */
  endsAt: number | null
}

export interface OperatorKeys {
  name: string
  /** The latest end among admin keys that were not revoked; null: there is none. */
  lastKeyEndsAt: number | null
}

/** A file or a folder, as it is. */
export interface LookedAt {
  path: string
  /** In bytes. */
  size: number
  uid: number
  gid: number
  /** The permissions, as chmod has them. */
  mode: number
  isFolder: boolean
}

/** The files of a SQLite store; undefined: there is no such file. */
export interface StoreFiles {
  folder: LookedAt | undefined
  database: LookedAt | undefined
  /** The write-ahead log. */
  log: LookedAt | undefined
  /** The index of the log, which is there while a process has the database open. */
  index: LookedAt | undefined
  /** Whether an fsync of the log has failed, and what it lost is not brought to the disk yet. */
  isUnsound: boolean
}

/** What there is to say of a schema of this version; `theirs`: there are tables, and none of them is this program's. */
export function judgeSchema(
  found: { version: number; latest: number; oldestProgram: string | undefined },
  { theirs }: { theirs: boolean },
): Schema {
  const { version, latest } = found
  if (theirs) return { version, latest, refusal: 'The database has tables of another program.' }
  try {
    if (version > latest) assertMayRun({ ...found, program: VERSION })
    return { version, latest, refusal: undefined }
  } catch (error) {
    return { version, latest, refusal: (error as Error).message }
  }
}

/** Sends a statement of the shared half, whose values are `$1`, `$2` and so on. Resolves to its rows as arrays. */
type Ask = <Row extends unknown[]>(statement: string, values?: unknown[]) => Promise<Row[]>

/** What is looked at in the same way in every store. */
export function createSharedInspector(ask: Ask): Pick<Inspector, 'tokens' | 'ownersWithoutSecret' | 'operators'> {
  return {
    async tokens() {
      const [oldest] = await ask<[issuedAt: number]>(sql.oldestTokenAt)
      const [newest] = await ask<[issuedAt: number]>(sql.newestTokenAt)
      return oldest && newest && { oldestAt: oldest[0], newestAt: newest[0] }
    },

    async ownersWithoutSecret(at) {
      type Row = [kind: SecretOwner['kind'], id: string, name: string, endsAt: number | null]
      const rows = await ask<Row>(sql.listOwnersWithoutSecret, [at])
      return rows.map(([kind, id, name, endsAt]) => ({ kind, id, name, endsAt }))
    },

    async operators() {
      const rows = await ask<[name: string, lastKeyEndsAt: number | null]>(sql.listOperatorKeys)
      return rows.map(([name, lastKeyEndsAt]) => ({ name, lastKeyEndsAt }))
    },
  }
}
