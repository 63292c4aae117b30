import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { PassThrough } from 'node:stream'
import type { ClientConfig } from 'pg'
import pgpass from 'pgpass'
import type { PostgresHost, PostgresLocation } from '../../domain/database-location.ts'
import { OperatorError } from '../../domain/operator-error.ts'

const CONNECT_TIMEOUT_MS = 1000

/** How long a connection is idle before TCP probes it. If the server has vanished, that is noticed 10 s later. */
const KEEP_ALIVE_MS = 5000

/** What the driver needs to connect to a server. Rejects with OperatorError if a file in the settings cannot be used. */
export async function clientConfig(location: PostgresLocation, { host, port }: PostgresHost): Promise<ClientConfig> {
  const { database, user, tls } = location
  const file = tls?.rootCertificateFile
  // Undefined: the authorities that Node.js trusts.
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
 * connection, since passwords change. Undefined: there is none. Rejects with OperatorError if a file cannot be used.
 */
export async function passwordFor(
  { passwordFile, password, database, user }: PostgresLocation,
  { host, port }: PostgresHost,
): Promise<string | undefined> {
  if (passwordFile !== undefined) {
    return (await readSettingFile('DATABASE_PASSWORD_FILE', passwordFile)).replace(/\r?\n$/, '')
  }
  if (password !== undefined) return password
  const found = lastSearch.then(() => findInPassfile({ host, port, database, user }))
  lastSearch = found.catch(() => {})
  return found
}

/** One search runs at a time: pgpass has one stream for all warnings. */
let lastSearch: Promise<unknown> = Promise.resolve()

async function findInPassfile(server: Parameters<typeof pgpass>[0]): Promise<string | undefined> {
  // By default pgpass writes warnings to standard error.
  const warnings = new PassThrough({ encoding: 'utf8' })
  pgpass.warnTo(warnings)
  const found = await new Promise<string | undefined>((done) => pgpass(server, done))
  const text: string | null = warnings.read()
  if (text !== null) throw new OperatorError(`PGPASSFILE is not used: ${text.trim()}.`)
  return found
}

async function readSettingFile(name: string, file: string): Promise<string> {
  return readFile(file, 'utf8').catch((cause: NodeJS.ErrnoException) => {
    throw new OperatorError(`${name}, ${resolve(file)}, cannot be read: ${cause.code}.`)
  })
}
