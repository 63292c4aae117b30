import { isIP } from 'node:net'
import { availableParallelism } from 'node:os'
import { z } from 'zod'
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

/** Stands for the address of PORT on this machine. */
const LOCAL_URL = 'http://localhost:PORT'

/** Every setting: its name, default, rules and meaning. README.md and .env.example are tested against this list. */
export const settings = {
  HOST: setting(
    '127.0.0.1',
    'The address to listen on',
    z.string().regex(/^\S+$/, 'must be an address or a host name'),
  ),
  PORT: setting(
    '8080',
    'The port to listen on; 0 picks a free one',
    z
      .string()
      .regex(/^\d{1,5}$/, 'must be a number from 0 to 65535')
      .transform(Number)
      .refine((port) => port <= 65535, 'must be a number from 0 to 65535'),
  ),
  DATABASE_URL: setting(
    'sqlite:./data/token-server.db',
    'Where the store is: sqlite: and the path of a file, or postgres://USER@HOST/DATABASE',
    z.string().transform(parseSetting),
  ),
  DATABASE_PASSWORD_FILE: setting(
    'none',
    'A file with the password for PostgreSQL; PGPASSWORD and PGPASSFILE are used, too',
    z.string().transform((file) => (file === 'none' ? undefined : file)),
  ),
  PREVIOUS_DATABASE_URL: setting(
    'none',
    'After a move, the store that was copied, for tokens that it alone has: sqlite: and the path of a file',
    z
      .string()
      .regex(/^(none|sqlite:(?!:memory:$).*)$/, 'must be sqlite: and the path of a file, or none')
      .transform((url, context) => (url === 'none' ? undefined : (parseSetting(url, context) as SqliteLocation))),
  ),
  LOG_LEVEL: setting(
    'info',
    'The least severe lines to log: debug, info, warn, error, fatal or silent',
    z.enum(['debug', 'info', 'warn', 'error', 'fatal', 'silent'], {
      error: 'must be debug, info, warn, error, fatal or silent',
    }),
  ),
  TRUST_PROXY: setting(
    'off',
    'The proxies whose X-Forwarded-For is trusted: addresses and CIDR ranges, separated by commas, or off',
    z.string().transform((text, context): false | string[] => {
      if (text === 'off') return false
      const ranges = text.split(',').map((range) => range.trim())
      if (ranges.every(isRange)) return ranges
      context.addIssue({ code: 'custom', message: 'must be off, or addresses and CIDR ranges separated by commas' })
      return z.NEVER
    }),
  ),
  CONNECTION_LIMIT: setting(
    '1024',
    'How many connections one address (of IPv6 a /64) may have to a process, or off',
    z
      .string()
      .regex(/^([1-9]\d{0,5}|off)$/, 'must be a number from 1 to 999999, or off')
      .transform((text) => (text === 'off' ? Infinity : Number(text))),
  ),
  FAILURE_LIMIT: setting(
    'on',
    'Whether failed authentications, and what is logged of refusals, are limited per address: on or off',
    z.enum(['on', 'off'], { error: 'must be on or off' }).transform((text) => text === 'on'),
  ),
  TOKEN_QUOTA: setting(
    'off',
    'How many tokens an application may get in an hour, or off',
    z
      .string()
      .regex(/^([1-9]\d{0,8}|off)$/, 'must be a number from 1 to 999999999, or off')
      .transform((text) => (text === 'off' ? Infinity : Number(text))),
  ),
  WORKERS: setting(
    '1',
    'How many processes answer requests, on one port and one store; auto: one per core',
    z
      .string()
      .regex(/^([1-9]\d?|auto)$/, 'must be a number from 1 to 99, or auto')
      .transform((text) => (text === 'auto' ? availableParallelism() : Number(text))),
  ),
  OPS_ADDRESS: setting(
    'off',
    'Where operators ask for metrics and health, a port of its own: HOST:PORT, [HOST]:PORT, or off',
    z.string().transform((text, context) => {
      const address = parseAddress(text)
      if (text === 'off' || address) return address
      context.addIssue({ code: 'custom', message: 'must be an address and a port, such as 127.0.0.1:9464, or off' })
      return z.NEVER
    }),
  ),
  ADMIN_ADDRESS: setting(
    'off',
    'Where the console and the administration API listen: HOST:PORT, [HOST]:PORT, unix:/absolute/path of a socket, or off',
    z.string().transform((text, context): AdminPlace | undefined => {
      if (text === 'off') return undefined
      const [, socket] = /^unix:(\/.*[^/])$/.exec(text) ?? []
      const address = socket === undefined ? parseAddress(text) : { socket }
      if (address && Buffer.byteLength(socket ?? '') <= LONGEST_SOCKET) return address
      const message = address
        ? `must have a path of at most ${LONGEST_SOCKET} bytes: no socket may have a longer one`
        : 'must be an address and a port, such as 127.0.0.1:8081, unix: and an absolute path, or off'
      context.addIssue({ code: 'custom', message })
      return z.NEVER
    }),
  ),
  ADMIN_URL: setting(
    'none',
    'Where operators reach ADMIN_ADDRESS through a proxy with TLS, without a path: https://HOST, or none',
    z
      .string()
      .refine(
        (text) => text === 'none' || isOrigin(text),
        'must be an http or https URL without a path, such as https://console.example, or none',
      )
      .transform((text) => (text === 'none' ? undefined : withoutSlash(text))),
  ),
  PUBLIC_URL: setting(
    LOCAL_URL,
    'Where clients reach this server, the {auth_url} of the contract; without a slash at the end',
    z
      .string()
      .refine(
        (text) => text === LOCAL_URL || isBaseUrl(text),
        'must be an http or https URL without a query, a fragment or a slash at the end',
      ),
  ),
  DOCS_URL: setting(
    'none',
    'Where people read about this server, the service_documentation of its metadata: an http or https URL, or none',
    z
      .string()
      .refine(
        (text) => text === 'none' || (/^https?:\/\/[^\s"\\]+$/.test(text) && URL.canParse(text)),
        'must be an http or https URL, or none',
      )
      .transform((text) => (text === 'none' ? undefined : text)),
  ),
}

type Settings = typeof settings
const shape = Object.fromEntries(Object.entries(settings).map(([name, { schema }]) => [name, schema])) as {
  [Name in keyof Settings]: Settings[Name]['schema']
}

const schema = z
  .object(shape)
  .refine(({ WORKERS, DATABASE_URL }) => WORKERS === 1 || !isInMemory(DATABASE_URL), {
    path: ['WORKERS'],
    message: 'must be 1 where the store is in memory',
  })
  .refine(({ ADMIN_ADDRESS, HOST, PORT }) => !isSame(ADMIN_ADDRESS, { host: HOST, port: PORT }), {
    path: ['ADMIN_ADDRESS'],
    message: 'must not be the address of HOST and PORT: clients are there',
  })
  .refine(({ ADMIN_ADDRESS, OPS_ADDRESS }) => !isSame(ADMIN_ADDRESS, OPS_ADDRESS), {
    path: ['ADMIN_ADDRESS'],
    message: 'must not be OPS_ADDRESS',
  })

/** The settings as the program uses them. */
export type Config = z.output<typeof schema>

/** Reads every setting from the environment. Throws OperatorError with all that is wrong, and no value: it may be secret. */
export function readConfig(env: NodeJS.ProcessEnv): Config {
  const result = schema.safeParse(env)
  if (result.success) {
    const { PORT, PUBLIC_URL, DATABASE_URL } = result.data
    return {
      ...result.data,
      DATABASE_URL: withPassword(DATABASE_URL, result.data.DATABASE_PASSWORD_FILE, env.PGPASSWORD),
      PUBLIC_URL: PUBLIC_URL === LOCAL_URL ? `http://localhost:${PORT}` : PUBLIC_URL,
    }
  }
  throw new OperatorError(result.error.issues.map(({ path, message }) => `${path.join('.')} ${message}.`).join('\n'))
}

function parseSetting(url: string, context: z.RefinementCtx): DatabaseLocation {
  try {
    return parseDatabaseUrl(url)
  } catch (error) {
    context.addIssue({ code: 'custom', message: (error as SyntaxError).message })
    return z.NEVER
  }
}

function withPassword(
  location: DatabaseLocation,
  passwordFile: string | undefined,
  password: string | undefined,
): DatabaseLocation {
  if (location.kind === 'sqlite') return location
  return { ...location, passwordFile, password: location.password ?? password }
}

function setting<Schema extends z.ZodType<unknown, string>>(byDefault: string, meaning: string, schema: Schema) {
  return { default: byDefault, meaning, schema: z.string().default(byDefault).pipe(schema) }
}

/** HOST:PORT or [HOST]:PORT; undefined: it is none. */
function parseAddress(text: string): Address | undefined {
  const [, inBrackets = '::', plain, port] = /^(?:\[([^\]]+)\]|([^\s:]+)):(\d{1,5})$/.exec(text) ?? []
  if (port === undefined || isIP(inBrackets) !== 6 || Number(port) > 65535) return undefined
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
