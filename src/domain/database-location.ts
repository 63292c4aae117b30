import { hostInUrl, isLocalHost } from '../web/address.ts'

export type DatabaseLocation = SqliteLocation | PostgresLocation

export interface SqliteLocation {
  readonly kind: 'sqlite'
  /** A path, or `:memory:`. */
  readonly file: string
}

export interface PostgresLocation {
  readonly kind: 'postgres'
  /** The servers of one cluster, of which one is the primary. */
  readonly hosts: readonly PostgresHost[]
  readonly database: string
  readonly user: string
  /** A file that contains the password; it takes precedence over `password`. */
  readonly passwordFile?: string | undefined
  readonly password: string | undefined
  /** Undefined without TLS. The file has the server's certificate authority; undefined for those that Node.js trusts. */
  readonly tls: { readonly rootCertificateFile: string | undefined } | undefined
}

export interface PostgresHost {
  readonly host: string
  readonly port: number
}

const SQLITE = /^sqlite:(?!\/\/[^/])\S(.*\S)?$/
const POSTGRES = /^postgres(?:ql)?:\/\/([^:@/?#]+)(?::([^@/?#]*))?@([^@/?#]+)\/([^/?#]+)(?:\?([^#]*))?$/
const HOST = /^(?:\[([\da-f:.]+)\]|([^\s:[\]]+))(?::(\d{1,5}))?$/i
const DEFAULT_PORT = 5432

/**
 * Parses `sqlite:FILE` or `postgres://USER[:PASSWORD]@HOST[:PORT][,HOST…]/DATABASE`. Throws a SyntaxError that
 * does not repeat the URL, because it may contain a password.
 */
export function parseDatabaseUrl(url: string): DatabaseLocation {
  if (SQLITE.test(url)) return { kind: 'sqlite', file: url.slice('sqlite:'.length) }
  if (!/^postgres(ql)?:/.test(url)) {
    throw new SyntaxError('must be sqlite: and the path of a file, or postgres://USER@HOST/DATABASE')
  }
  const [, user, password, hosts, database, query = ''] = POSTGRES.exec(url) ?? []
  if (!user || !hosts || !database) throw new SyntaxError('must have the form postgres://USER@HOST/DATABASE')
  const parsed = hosts.split(',').map(parseHost)
  return {
    kind: 'postgres',
    hosts: parsed,
    database: decode(database),
    user: decode(user),
    password: password === undefined ? undefined : decode(password),
    tls: parseTls(query, parsed),
  }
}

function parseHost(text: string): PostgresHost {
  const [, v6, name, port = DEFAULT_PORT] = HOST.exec(text) ?? []
  const host = v6 ?? name
  if (!host || Number(port) < 1 || Number(port) > 65535) {
    throw new SyntaxError('must have hosts of the form HOST or HOST:PORT, separated by commas')
  }
  return { host, port: Number(port) }
}

/** TLS is the default, except to this machine: a password must not cross a network unencrypted by mistake. */
function parseTls(query: string, hosts: readonly PostgresHost[]): PostgresLocation['tls'] {
  const parameters = new URLSearchParams(query)
  for (const name of parameters.keys()) {
    if (name !== 'sslmode' && name !== 'sslrootcert') {
      throw new SyntaxError('must have no parameters but sslmode and sslrootcert')
    }
  }
  const mode = parameters.get('sslmode') ?? (hosts.every(({ host }) => isLocalHost(host)) ? 'disable' : 'verify-full')
  if (mode !== 'disable' && mode !== 'verify-full')
    throw new SyntaxError('must have sslmode=verify-full or sslmode=disable')
  return mode === 'disable' ? undefined : { rootCertificateFile: parameters.get('sslrootcert') ?? undefined }
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw new SyntaxError('must have characters other than letters and digits written as %XX')
  }
}

export function isInMemory(location: DatabaseLocation): boolean {
  return location.kind === 'sqlite' && location.file === ':memory:'
}

/** The location for people, without user and password. */
export function locationText(location: DatabaseLocation): string {
  if (location.kind === 'sqlite') return location.file
  const hosts = location.hosts.map(({ host, port }) => `${hostInUrl(host)}:${port}`)
  return `postgres://${hosts.join(',')}/${location.database}`
}
