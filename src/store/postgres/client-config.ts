import { readFile, stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { ClientConfig } from 'pg'
import type { PostgresHost, PostgresLocation } from '../../domain/database-location.ts'
import { OperatorError } from '../../domain/operator-error.ts'

const CONNECT_TIMEOUT_MS = 1000

/** How long a connection is idle before TCP probes it. If the server has vanished, that is noticed 10 s later. */
const KEEP_ALIVE_MS = 5000

/** What the driver needs to connect to a server. Rejects with OperatorError if a file in the settings cannot be used. */
export async function clientConfig(location: PostgresLocation, { host, port }: PostgresHost): Promise<ClientConfig> {
  const { database, user, tls } = location
  const file = tls?.rootCertificateFile
  // If undefined, the authorities that Node.js trusts apply.
  const ca = file === undefined ? undefined : await readSettingFile('The file of sslrootcert', file)
  return {
    ...{ host, port, database, user },
    password: await passwordFor(location, { host, port }),
    // With undefined the driver would use PGSSLMODE.
    ssl: tls ? { ca } : false,
    application_name: 'token-server',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
  }
}

/**
 * The password for a server: from DATABASE_PASSWORD_FILE, the URL or PGPASSWORD, or PGPASSFILE. Files are read again for every
 * connection, since passwords change. Undefined if there is none. Rejects with OperatorError if a file cannot be used.
 */
export async function passwordFor(
  { passwordFile, password, database, user }: PostgresLocation,
  { host, port }: PostgresHost,
): Promise<string | undefined> {
  if (passwordFile !== undefined) {
    return (await readSettingFile('DATABASE_PASSWORD_FILE', passwordFile)).replace(/\r?\n$/, '')
  }
  if (password !== undefined) return password
  return findInPassfile([host, String(port), database, user])
}

/** The password in the file of PostgreSQL's own tools, which has lines of HOST:PORT:DATABASE:USER:PASSWORD. */
async function findInPassfile(wanted: readonly string[]): Promise<string | undefined> {
  const { HOME = '.', PGPASSFILE } = process.env
  const file = PGPASSFILE || join(HOME, '.pgpass')
  const found = await stat(file).catch(() => undefined)
  if (!found) return undefined
  if (!found.isFile() || (found.mode & 0o077) !== 0) {
    const rule = 'must be a plain file that only its owner can access (chmod 600)'
    throw new OperatorError(`PGPASSFILE is not used: ${resolve(file)} ${rule}.`)
  }
  const lines = (await readSettingFile('PGPASSFILE', file)).split(/\r?\n/)
  const entries = lines.map((line) => line.split(/(?<!\\):/).map((field) => field.replace(/\\([:\\])/g, '$1')))
  const fitting = entries.filter((fields) => wanted.every((value, n) => fields[n] === '*' || fields[n] === value))
  return fitting.map((fields) => fields.slice(wanted.length).join(':')).find((password) => password !== '')
}

async function readSettingFile(name: string, file: string): Promise<string> {
  return readFile(file, 'utf8').catch((cause: NodeJS.ErrnoException) => {
    throw new OperatorError(`${name}, ${resolve(file)}, cannot be read: ${cause.code}.`)
  })
}
