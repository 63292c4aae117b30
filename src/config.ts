import { isIP } from 'node:net'
import { availableParallelism } from 'node:os'
import { type DatabaseLocation, isInMemory, parseDatabaseUrl, type SqliteLocation } from './domain/database-location.ts'
import { OperatorError } from './domain/operator-error.ts'

/** How long the path of a socket may be on every system, in bytes: Linux allows four more. */
const LONGEST_SOCKET = 103

/** Where a listener is. */
interface Address {
  host: string
  port: number
}

/** Where operators administer the server: an address, or the path of a Unix socket. */
export type AdminPlace = Address | { socket: string }

type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent'

/** Stands for the address of PORT on this machine. */
const LOCAL_URL = 'http://localhost:PORT'

/** Every setting: its name, default, meaning and rules. README.md and .env.example are tested against this list. */
export const settings = {
  HOST: setting('127.0.0.1', 'The address to listen on', (text) =>
    valid(text, /^\S+$/.test(text), 'must be an address or a host name'),
  ),
  PORT: setting('8080', 'The port to listen on; 0 picks a free one', (text) =>
    valid(Number(text), isPort(text), 'must be a number from 0 to 65535'),
  ),
  DATABASE_URL: setting(
    'sqlite:./data/token-server.db',
    'Where the store is: sqlite: and the path of a file, or postgres://USER@HOST/DATABASE',
    parseDatabaseUrl,
  ),
  DATABASE_PASSWORD_FILE: setting(
    'none',
    'A file with the password for PostgreSQL; PGPASSWORD and PGPASSFILE are used, too',
    unlessNone((file) => file),
  ),
  PREVIOUS_DATABASE_URL: setting(
    'none',
    'After a move, the store that was copied, for tokens that it alone has: sqlite: and the path of a file',
    unlessNone((url) => {
      valid(url, /^sqlite:(?!:memory:$).*$/.test(url), 'must be sqlite: and the path of a file, or none')
      return parseDatabaseUrl(url) as SqliteLocation
    }),
  ),
  LOG_LEVEL: setting('info', 'The least severe lines to log: debug, info, warn, error, fatal or silent', (text) =>
    valid(
      text as LogLevel,
      /^(debug|info|warn|error|fatal|silent)$/.test(text),
      'must be debug, info, warn, error, fatal or silent',
    ),
  ),
  TRUST_PROXY: setting(
    'off',
    'The proxies whose X-Forwarded-For is trusted: addresses and CIDR ranges, separated by commas, or off',
    (text): false | string[] => {
      const ranges = text.split(',').map((range) => range.trim())
      if (text === 'off') return false
      return valid(ranges, ranges.every(isRange), 'must be off, or addresses and CIDR ranges separated by commas')
    },
  ),
  CONNECTION_LIMIT: setting(
    '1024',
    'How many connections one address (of IPv6 a /64) may have to a process, or off',
    number(6, 'off', () => Infinity),
  ),
  FAILURE_LIMIT: setting(
    'on',
    'Whether failed authentications, and what is logged of refusals, are limited per address: on or off',
    (text) => valid(text === 'on', /^(on|off)$/.test(text), 'must be on or off'),
  ),
  TOKEN_QUOTA: setting(
    'off',
    'How many tokens an application may get in an hour, or off',
    number(9, 'off', () => Infinity),
  ),
  WORKERS: setting(
    '1',
    'How many processes answer requests, on one port and one store; auto: one per core',
    number(2, 'auto', availableParallelism),
  ),
  OPS_ADDRESS: setting(
    'off',
    'Where operators ask for metrics and health, a port of its own: HOST:PORT, [HOST]:PORT, or off',
    (text) => {
      const address = parseAddress(text)
      const isValid = address !== undefined || text === 'off'
      return valid(address, isValid, 'must be an address and a port, such as 127.0.0.1:9464, or off')
    },
  ),
  ADMIN_ADDRESS: setting(
    'off',
    'Where the console and the administration API listen: HOST:PORT, [HOST]:PORT, unix:/absolute/path of a socket, or off',
    (text): AdminPlace | undefined => {
      if (text === 'off') return undefined
      const [, socket] = /^unix:(\/.*[^/])$/.exec(text) ?? []
      const place = socket === undefined ? parseAddress(text) : { socket }
      const message = 'must be an address and a port, such as 127.0.0.1:8081, unix: and an absolute path, or off'
      const tooLong = `must have a path of at most ${LONGEST_SOCKET} bytes: no socket may have a longer one`
      valid(place, place !== undefined, message)
      return valid(place, Buffer.byteLength(socket ?? '') <= LONGEST_SOCKET, tooLong)
    },
  ),
  ADMIN_URL: setting(
    'none',
    'Where operators reach ADMIN_ADDRESS through a proxy with TLS, without a path: https://HOST, or none',
    unlessNone((url) => {
      const message = 'must be an http or https URL without a path, such as https://console.example, or none'
      return valid(withoutSlash(url), isOrigin(url), message)
    }),
  ),
  PUBLIC_URL: setting(
    LOCAL_URL,
    'Where clients reach this server, the {auth_url} of the contract; without a slash at the end',
    (url) => {
      const message = 'must be an http or https URL without a query, a fragment or a slash at the end'
      return valid(url, url === LOCAL_URL || isBaseUrl(url), message)
    },
  ),
  DOCS_URL: setting(
    'none',
    'Where people read about this server, the service_documentation of its metadata: an http or https URL, or none',
    unlessNone((url) => {
      const isUrl = /^https?:\/\/[^\s"\\]+$/.test(url) && URL.canParse(url)
      return valid(url, isUrl, 'must be an http or https URL, or none')
    }),
  ),
}

type Settings = typeof settings

/** The settings as the program uses them. */
export type Config = { [Name in keyof Settings]: ReturnType<Settings[Name]['parse']> }

/** Reads every setting from the environment. Throws OperatorError with all that is wrong, and no value: it may be secret. */
export function readConfig(env: NodeJS.ProcessEnv): Config {
  const values: Record<string, unknown> = {}
  const problems: string[] = []
  for (const [name, { default: byDefault, parse }] of Object.entries(settings)) {
    try {
      values[name] = parse(env[name] ?? byDefault)
    } catch (error) {
      problems.push(`${name} ${(error as SyntaxError).message}.`)
    }
  }
  const config = values as Config
  if (problems.length === 0) problems.push(...contradictions(config))
  if (problems.length > 0) throw new OperatorError(problems.join('\n'))
  const { PORT, PUBLIC_URL, DATABASE_URL, DATABASE_PASSWORD_FILE } = config
  return {
    ...config,
    DATABASE_URL: withPassword(DATABASE_URL, DATABASE_PASSWORD_FILE, env.PGPASSWORD),
    PUBLIC_URL: PUBLIC_URL === LOCAL_URL ? `http://localhost:${PORT}` : PUBLIC_URL,
  }
}

/** Settings that are right one by one, and cannot be together. */
function contradictions({ WORKERS, DATABASE_URL, ADMIN_ADDRESS, OPS_ADDRESS, HOST, PORT }: Config): string[] {
  const isPublic = isSame(ADMIN_ADDRESS, { host: HOST, port: PORT })
  return [
    ...(WORKERS > 1 && isInMemory(DATABASE_URL) ? ['WORKERS must be 1 where the store is in memory.'] : []),
    ...(isPublic ? ['ADMIN_ADDRESS must not be the address of HOST and PORT: clients are there.'] : []),
    ...(isSame(ADMIN_ADDRESS, OPS_ADDRESS) ? ['ADMIN_ADDRESS must not be OPS_ADDRESS.'] : []),
  ]
}

/** `parse` throws a SyntaxError that says what is wrong, without the value. */
function setting<Value>(byDefault: string, meaning: string, parse: (text: string) => Value) {
  return { default: byDefault, meaning, parse }
}

function valid<Value>(value: Value, isValid: boolean, message: string): Value {
  if (isValid) return value
  throw new SyntaxError(message)
}

function unlessNone<Value>(parse: (text: string) => Value): (text: string) => Value | undefined {
  return (text) => (text === 'none' ? undefined : parse(text))
}

/** A number above 0 of so many digits, or a word that stands for one. */
function number(digits: number, word: string, meant: () => number): (text: string) => number {
  const message = `must be a number from 1 to ${10 ** digits - 1}, or ${word}`
  return (text) => {
    if (text === word) return meant()
    return valid(Number(text), /^[1-9]\d*$/.test(text) && text.length <= digits, message)
  }
}

function isPort(text: string): boolean {
  return /^\d{1,5}$/.test(text) && Number(text) <= 65535
}

function withPassword(
  location: DatabaseLocation,
  passwordFile: string | undefined,
  password: string | undefined,
): DatabaseLocation {
  if (location.kind === 'sqlite') return location
  return { ...location, passwordFile, password: location.password ?? password }
}

/** HOST:PORT or [HOST]:PORT; undefined: it is none. */
function parseAddress(text: string): Address | undefined {
  const [, inBrackets = '::', plain, port] = /^(?:\[([^\]]+)\]|([^\s:]+)):(\d{1,5})$/.exec(text) ?? []
  if (port === undefined || isIP(inBrackets) !== 6 || !isPort(port)) return undefined
  return { host: plain ?? inBrackets, port: Number(port) }
}

function isSame(one: AdminPlace | undefined, other: Address | undefined): boolean {
  if (!one || 'socket' in one || !other || other.port === 0) return false
  return one.host === other.host && one.port === other.port
}

function isRange(text: string): boolean {
  const [, address = '', bits = '1'] = /^([^%/]+)(?:\/(\d{1,3}))?$/.exec(text) ?? []
  const longest = { 0: 0, 4: 32, 6: 128 }[isIP(address)] as number
  return Number(bits) >= 1 && Number(bits) <= longest
}

function isBaseUrl(text: string): boolean {
  return /^https?:\/\/[^\s"\\?#]*[^\s"\\?#/]$/.test(text) && URL.canParse(text)
}

/** As a browser writes it: in lower case, without its scheme's own port; a slash at the end may be there. */
function isOrigin(text: string): boolean {
  return /^https?:/.test(text) && URL.canParse(text) && new URL(text).origin === withoutSlash(text)
}

function withoutSlash(url: string): string {
  return url.replace(/\/$/, '')
}
