import { access, constants } from 'node:fs/promises'
import type { Config } from '../config.ts'
import type { SqliteLocation } from '../domain/database-location.ts'
import { READY_PATH } from '../http/metadata.ts'
import { FULL_LOG, LARGE_LOG, type LookedAt, type StoreFiles } from '../store/inspect.ts'
import { lookAtStore } from '../store/open.ts'
import { error, type Finding, note, ok, sizeText, warning } from './finding.ts'
import { addressOf, ask } from './listeners.ts'

const { R_OK, W_OK, X_OK } = constants

/** What group and others may do, and what they may write. */
const NOT_THE_OWNER = 0o077
const OTHERS_WRITE = 0o022
const GROUP_WRITES = 0o020

/** The files of a database: whether they are there, whole, and the server's alone. */
export async function examineFiles(location: SqliteLocation): Promise<Finding[]> {
  const files = await lookAtStore(location)
  const all = [files.folder, files.database, files.log, files.index].filter((file) => file !== undefined)
  return [
    ...presence(files),
    ...all.flatMap(permissions),
    ...owners(all),
    ...(await Promise.all(all.map(examineAccess))).flat(),
    ...log(files),
  ]
}

function presence({ folder, database, log }: StoreFiles): Finding[] {
  if (database) return [ok(`The database is ${database.path}, ${sizeText(database.size)}.`)]
  // What there is to say of the database says the store.
  if (log) return []
  return folder ? [] : [note('The folder of the database does not exist yet.', 'The server makes it.')]
}

function permissions(file: LookedAt): Finding[] {
  const { path, mode, isFolder } = file
  const octal = mode.toString(8)
  if (isOfOwnGroup(file)) return []
  if (mode & OTHERS_WRITE) return [warning(`Others may write to ${path} (mode ${octal}).`, `chmod go-w ${path}`)]
  if (!isFolder && mode & NOT_THE_OWNER) {
    return [warning(`Others may read ${path} (mode ${octal}): it has personal data.`, `chmod go= ${path}`)]
  }
  return []
}

/** A folder in which this process may write as one of its group, as Kubernetes makes it with an fsGroup. */
function isOfOwnGroup({ mode, gid, isFolder }: LookedAt): boolean {
  return isFolder && (mode & OTHERS_WRITE) === GROUP_WRITES && process.getgroups?.().includes(gid) === true
}

/** One owner for all: SQLite needs every one of them. */
function owners(files: LookedAt[]): Finding[] {
  const [first, ...others] = files
  return others.flatMap(({ path, uid }) =>
    uid === first?.uid
      ? []
      : [warning(`${path} belongs to uid ${uid}, and ${first?.path} to uid ${first?.uid}.`, 'Give all to the server.')],
  )
}

/** Whether this process, if it is the server's user, may use a file or a folder. */
export async function examineAccess(file: LookedAt): Promise<Finding[]> {
  const wanted = R_OK | W_OK | (file.isFolder ? X_OK : 0)
  return access(file.path, wanted).then(
    () => [],
    (cause: NodeJS.ErrnoException) => [judgeRefusal(file, cause.code)],
  )
}

export function judgeRefusal({ path, uid }: Pick<LookedAt, 'path' | 'uid'>, code: string | undefined): Finding {
  const own = process.getuid?.()
  if (code === 'EROFS') return error(`The file system of ${path} is read-only.`, 'Mount it writable.')
  if (uid === own) return error(`Its owner may not write to ${path}.`, `chmod u+rwX ${path}`)
  const text = `${path} belongs to uid ${uid}, and this process, uid ${own}, may not write to it.`
  return error(text, `Run this as the server's user. If uid ${own} is that, give it to it.`)
}

function log({ log, index, isUnsound }: StoreFiles): Finding[] {
  if (!log) return []
  const { path, size } = log
  const text = `The write-ahead log has ${sizeText(size)}`
  if (isUnsound) {
    return [
      error(
        `An fsync of ${path} has failed, and what that lost is not on the disk yet.`,
        'End every process that has the database open, then start the server. Do not restart the machine before.',
      ),
    ]
  }
  if (size >= FULL_LOG)
    return [error(`${text}: changes are refused.`, 'End what has a transaction open, such as a backup.')]
  if (size >= LARGE_LOG) return [warning(`${text}.`, 'Something keeps it from being copied: end it, or mend the disk.')]
  if (size > 0 && !index) return [note(`${text}, which the next start copies: what follows is from before.`)]
  return [ok(`${text}.`)]
}

/** Whether a server of these settings runs though its database is missing: a start would make an empty one. */
export async function examineLostDatabase(
  { file }: SqliteLocation,
  { HOST, PORT }: Pick<Config, 'HOST' | 'PORT'>,
): Promise<Finding[]> {
  const { database } = await lookAtStore({ kind: 'sqlite', file })
  if (database?.size || PORT === 0) return []
  const address = addressOf(HOST, PORT)
  const answer = await ask(`${address}${READY_PATH}`)
  // One that hangs may have the database open, too.
  if (answer.status === undefined && answer.code !== undefined) return []
  return [
    error(
      `A server runs at ${address}, and there is no database at ${file}: it is gone, or the settings are not the server's.`,
      'Do not start, restart or migrate: that makes an empty one. Put it back, or restore a backup: docs/operations/backup-and-upgrade.md, "Restore".',
    ),
  ]
}
