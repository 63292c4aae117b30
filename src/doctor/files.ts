import { access, constants } from 'node:fs/promises'
import type { Config } from '../config.ts'
import type { SqliteLocation } from '../domain/database-location.ts'
import { READY_PATH } from '../http/metadata.ts'
import { type FileInfo, FULL_LOG, LARGE_LOG, type StoreFiles } from '../store/inspect.ts'
import { describeStoreFiles } from '../store/open.ts'
import { OTHERS_WRITE } from './access.ts'
import { error, type Finding, note, ok, restriction, sizeText, warning } from './finding.ts'
import { addressOf, ask } from './listeners.ts'

const { R_OK, W_OK, X_OK } = constants

const NOT_THE_OWNER = 0o077
const GROUP_WRITES = 0o020

/** Checks the files of a database: whether they exist, and only the server may use them; and the state of the log. */
export async function checkFiles(location: SqliteLocation): Promise<Finding[]> {
  const files = await describeStoreFiles(location)
  const all = [files.folder, files.database, files.log, files.index].filter((file) => file !== undefined)
  return [
    ...presence(files),
    ...all.flatMap(permissions),
    ...owners(all),
    ...(await Promise.all(all.map(checkAccess))).flat(),
    ...logFindings(files),
  ]
}

function presence({ folder, database, log }: StoreFiles): Finding[] {
  if (database) return [ok(`The database is ${database.path}, ${sizeText(database.size)}.`)]
  // `checkStore` reports a missing database.
  return log || folder
    ? []
    : [note('The folder of the database does not exist yet.', 'It is created with the database.')]
}

function permissions(file: FileInfo): Finding[] {
  const { path, mode, uid, isFolder } = file
  const octal = mode.toString(8)
  if (isOfOwnGroup(file)) return []
  if (mode & OTHERS_WRITE)
    return [warning(`Other users may write to ${path} (mode ${octal}).`, restriction('go-w', path, uid))]
  if (isFolder || !(mode & NOT_THE_OWNER)) return []
  const text = `Other users may read ${path} (mode ${octal}): it contains personal data.`
  return [warning(text, restriction('go=', path, uid))]
}

/** Whether this process may write to a folder as a member of its group: Kubernetes makes such folders with an fsGroup. */
function isOfOwnGroup({ mode, gid, isFolder }: FileInfo): boolean {
  return isFolder && (mode & OTHERS_WRITE) === GROUP_WRITES && process.getgroups?.().includes(gid) === true
}

/** Checks that all files have one owner, because SQLite needs access to all of them. */
function owners(files: FileInfo[]): Finding[] {
  const [first, ...others] = files
  return others
    .filter(({ uid }) => uid !== first?.uid)
    .map(({ path, uid }) => {
      const text = `${path} belongs to uid ${uid}, but ${first?.path} to uid ${first?.uid}.`
      return warning(text, "Make the server's user the owner of both.")
    })
}

/** Checks whether this process may use a file or a folder. It should run as the server's user. */
export async function checkAccess(file: FileInfo): Promise<Finding[]> {
  const wanted = R_OK | W_OK | (file.isFolder ? X_OK : 0)
  return access(file.path, wanted).then(
    () => [],
    (cause: NodeJS.ErrnoException) => [accessFinding(file, cause.code)],
  )
}

export function accessFinding({ path, uid }: Pick<FileInfo, 'path' | 'uid'>, code: string | undefined): Finding {
  const own = process.getuid?.()
  if (code === 'EROFS') return error(`The file system of ${path} is read-only.`, 'Remount it read-write.')
  if (uid === own) return error(`The owner of ${path} may not write to it.`, `chmod u+rwX ${path}`)
  const text = `${path} belongs to uid ${uid}, and this process, uid ${own}, may not write to it.`
  return error(text, `Run this as uid ${uid}, the owner. Only if no server uses the file: make uid ${own} its owner.`)
}

function logFindings({ log, index, isUnsound }: StoreFiles): Finding[] {
  if (!log) return []
  const { path, size } = log
  const text = `The write-ahead log is ${sizeText(size)}`
  if (isUnsound) {
    const failed = `An fsync of ${path} has failed, and the data that it should have saved is not on the disk yet.`
    const restart =
      'End every process that uses the database, then start the server. Do not restart the machine before that.'
    return [error(failed, restart)]
  }
  if (size >= FULL_LOG)
    return [error(`${text}: changes are refused.`, 'End the process with an open transaction, for example a backup.')]
  if (size >= LARGE_LOG) {
    return [warning(`${text}.`, 'A process or the disk prevents its checkpoint: end that process, or repair the disk.')]
  }
  if (size > 0 && !index) {
    return [note(`${text}. The other findings do not include it until the next start copies it.`)]
  }
  return [ok(`${text}.`)]
}

/** Checks whether a server runs although its database is missing: a restart would create an empty one. */
export async function checkLostDatabase(
  location: SqliteLocation,
  { HOST, PORT, TLS_CERT_FILE }: Pick<Config, 'HOST' | 'PORT'> & Partial<Pick<Config, 'TLS_CERT_FILE'>>,
): Promise<Finding[]> {
  const { database } = await describeStoreFiles(location)
  if (database?.size || PORT === 0) return []
  const address = addressOf(HOST, PORT, TLS_CERT_FILE !== undefined)
  const answer = await ask(`${address}${READY_PATH}`)
  // Another program, as `checkServer` says.
  if (answer.status !== undefined && ![200, 503].includes(answer.status)) return []
  // Even a server that hangs may have the database open.
  if (answer.status === undefined && answer.code !== undefined) return []
  return [
    error(
      `A server runs at ${address}, but there is no database at ${location.file}: it is lost, or these are not the server's settings.`,
      'Do not start, restart or migrate: that would create an empty one. Put it back, or restore a backup: docs/operations/backup-and-upgrade.md, "Restore".',
    ),
  ]
}
