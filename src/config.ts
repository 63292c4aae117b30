import { isIP } from 'node:net'
import { availableParallelism } from 'node:os'
import { isInMemory, parseDatabaseUrl, type SqliteLocation } from './domain/database-location.ts'
import type { ClaimRule, ProviderSettings } from './domain/identity.ts'
import { OperatorError } from './domain/operator-error.ts'
import { HAND_OVER_PATH } from './domain/secret.ts'
import { isPlainTextUrl, isRange } from './web/address.ts'

/** The longest path of a Unix socket that every system accepts, in bytes. Linux accepts four more. */
const LONGEST_SOCKET = 103

interface Address {
  host: string
  port: number
}

/** Where the admin listener listens. `socket`: the path of a Unix socket. */
export type AdminPlace = Address | { socket: string }

/** The default PUBLIC_URL: the word PORT is replaced by the value of that setting, and http by https with TLS_CERT_FILE. */
const LOCAL_URL = 'http://localhost:PORT'

/** Every setting: its name, default, meaning and rules. `npm run docs` writes docs/operations/settings.md from this. */
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
  DATABASE_PASSWORD_FILE: fileSetting(
    'A file with the password for PostgreSQL; PGPASSWORD and PGPASSFILE are used, too',
    { mayBeEmpty: true },
  ),
  PREVIOUS_DATABASE_URL: setting(
    'none',
    'After a move, the store that was copied, for tokens that only it has: sqlite: and the path of a file',
    optional('none', (url) => {
      valid(url, /^sqlite:(?!:memory:$).*$/.test(url), 'must be sqlite: and the path of a file, or none')
      return parseDatabaseUrl(url) as SqliteLocation
    }),
  ),
  LOG_LEVEL: setting(
    'info',
    'The lowest level to log: debug, info, warn, error, fatal or silent',
    oneOf('debug', 'info', 'warn', 'error', 'fatal', 'silent'),
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
    'How many connections one address (for IPv6, one /64) may have to a process, or off',
    number(6, 'off', Infinity),
  ),
  FAILURE_LIMIT: setting(
    'on',
    'Whether failed authentications and the logging of refusals are limited per address: on or off',
    onOrOff,
  ),
  CLIENT_AUTHENTICATION: setting(
    'body',
    'How applications may send their credentials: body; with ,basic also by HTTP Basic, with ,jwt also as a client assertion',
    (text) => valid(text, /^body(,basic)?(,jwt)?$/.test(text), 'must be body, which ,basic and ,jwt may follow'),
  ),
  TOKEN_QUOTA: setting(
    'off',
    'How many tokens an application without a quota of its own may get in an hour, or off; 3600,report-only: more are only reported',
    (text) => {
      const [, tokens = text, mode] = /^(\d+)(,report-only)?$/.exec(text) ?? []
      return { tokens: number(9, 'off', Infinity)(tokens), isReportOnly: mode !== undefined }
    },
  ),
  WORKERS: setting(
    '1',
    'How many processes answer requests, on one port and one store; auto: one per core',
    number(2, 'auto', availableParallelism()),
  ),
  TLS_CERT_FILE: fileSetting(
    'A file with the certificate of HOST and PORT, followed by those of its issuers (PEM); none: plain HTTP',
  ),
  TLS_KEY_FILE: fileSetting('A file with the private key of TLS_CERT_FILE (PEM)'),
  OPS_ADDRESS: setting(
    'off',
    'Where operators get metrics and health, on a separate port: HOST:PORT, [HOST]:PORT, or off',
    optional('off', (text) => {
      const address = parseAddress(text)
      return valid(address, address !== undefined, 'must be an address and a port, such as 127.0.0.1:9464, or off')
    }),
  ),
  OPS_TLS_CERT_FILE: fileSetting('The same as TLS_CERT_FILE, for OPS_ADDRESS; it may be the same file'),
  OPS_TLS_KEY_FILE: fileSetting('A file with the private key of OPS_TLS_CERT_FILE'),
  OPS_CLIENT_CA_FILE: fileSetting(
    'A file with certificates of authorities (PEM): only their clients get the metrics; none: everyone does',
  ),
  ADMIN_ADDRESS: setting(
    'off',
    'Where the console and the administration API listen: HOST:PORT, [HOST]:PORT, unix:/absolute/path of a socket, or off',
    optional('off', (text): AdminPlace | undefined => {
      const [, socket] = /^unix:(\/.*[^/])$/.exec(text) ?? []
      const place = socket === undefined ? parseAddress(text) : { socket }
      const message = 'must be an address and a port, such as 127.0.0.1:8081, unix: and an absolute path, or off'
      const tooLong = `must have a path of at most ${LONGEST_SOCKET} bytes, the limit for sockets`
      valid(place, place !== undefined, message)
      return valid(place, Buffer.byteLength(socket ?? '') <= LONGEST_SOCKET, tooLong)
    }),
  ),
  ADMIN_TLS_CERT_FILE: fileSetting('The same as TLS_CERT_FILE, for ADMIN_ADDRESS; it may be the same file'),
  ADMIN_TLS_KEY_FILE: fileSetting('A file with the private key of ADMIN_TLS_CERT_FILE'),
  ADMIN_URL: setting(
    'none',
    'Where operators reach ADMIN_ADDRESS by TLS, here or at a proxy, without a path: https://HOST, or none',
    optional('none', (url) => {
      const message =
        'must be an https URL without a path, such as https://console.example (http for this machine only), or none'
      // As browsers write an origin: in lower case, without the default port of the scheme. A slash at the end is allowed.
      const origin = url.replace(/\/$/, '')
      return valid(origin, isHttpUrl(url) && new URL(url).origin === origin && !isPlainTextUrl(url), message)
    }),
  ),
  OIDC_ISSUER: setting(
    'none',
    "The company's identity provider, with which operators sign in to the console: its issuer, an https URL, or none",
    optional('none', (url) => {
      const isIssuer = isHttpUrl(url) && !/[?#@]/.test(url) && !isPlainTextUrl(url)
      const message = 'must be an https URL without a user, a query or a fragment (http for this machine only), or none'
      return valid(url, isIssuer, message)
    }),
  ),
  OIDC_CLIENT_ID: setting('none', "This server's client id at the identity provider", optional('none', String)),
  OIDC_CLIENT_SECRET_FILE: fileSetting('A file with the client secret for the identity provider', { mayBeEmpty: true }),
  OIDC_ADMINS: setting(
    'none',
    'The claim and its values that make people admins, such as groups=platform,oncall or realm_access.roles=admin, or none',
    optional('none', parseClaimRule),
  ),
  OIDC_VIEWERS: setting(
    'none',
    'The claim and its values that make people viewers, who may only look, or none',
    optional('none', parseClaimRule),
  ),
  OPERATORS: setting(
    'any',
    'How people sign in to the console: any, or provider for the identity provider only; admin keys of programs always work',
    oneOf('any', 'provider'),
  ),
  NOTICE_URL_FILE: fileSetting(
    'A file with the URL to which what needs attention is posted, such as a webhook of a chat, or none',
  ),
  NOTICE_SECRET_FILE: fileSetting(
    'A file with the secret that signs these notices: 24 to 64 bytes in base64, with or without whsec_, or none',
  ),
  AUDIT_KEY_FILE: fileSetting(
    'A file with the private key (Ed25519, PEM) that signs the last hash of the audit trail, in the log and for audit head, or none',
  ),
  PUBLIC_URL: setting(
    LOCAL_URL,
    'Where clients reach this server, the {auth_url} of the contract; without a slash at the end (https://localhost:PORT with TLS_CERT_FILE)',
    (url) => {
      const message = 'must be an http or https URL without a query, a fragment or a slash at the end'
      return valid(url, url === LOCAL_URL || (isHttpUrl(url) && !/[?#]|\/$/.test(url)), message)
    },
  ),
  INTROSPECTION_URL: setting(
    'none',
    'Where suites reach introspection, if not at /v1/oauth/introspect of PUBLIC_URL: the whole http or https URL, or none',
    optional('none', (url) => {
      const message =
        'must be an http or https URL with a path, without a user, a query, a fragment or a slash at the end, or none'
      return valid(url, isHttpUrl(url) && !/[?#@]|\/$/.test(url) && new URL(url).pathname !== '/', message)
    }),
  ),
  HANDOVER: setting(
    'off',
    'Whether partners can get new secrets from hand-over links, at /hand-over of PUBLIC_URL: on or off',
    onOrOff,
  ),
  DOCS_URL: setting(
    'none',
    'The documentation for people, as service_documentation in the metadata: an http or https URL, or none',
    optional('none', (url) => valid(url, isHttpUrl(url), 'must be an http or https URL, or none')),
  ),
  INSTALLATION_NAME: setting(
    'none',
    'What the console calls this installation, on every page and in the title of its windows, such as Staging, or none',
    optional('none', (name) =>
      valid(
        name,
        /^\P{C}{1,40}$/u.test(name) && name.trim() === name,
        'must be a name of at most 40 characters, or none',
      ),
    ),
  ),
  INSTALLATION_COLOR: setting(
    'gray',
    'The color of INSTALLATION_NAME in the console: gray, red, amber, green, blue or violet',
    oneOf('gray', 'red', 'amber', 'green', 'blue', 'violet'),
  ),
}

type Settings = typeof settings

export type Config = { [Name in keyof Settings]: ReturnType<Settings[Name]['parse']> }

/** An invalid setting. `text` begins with the name, and repeats the value only if that cannot contain a password. */
interface Problem {
  name: keyof Settings
  text: string
}

/**
 * Reads every setting from the environment, which includes `file`, the content of `.env`. In `config`, an invalid setting has its
 * default value.
 */
export function parseSettings(
  env: NodeJS.ProcessEnv,
  file: NodeJS.Dict<string> = {},
): { config: Config; problems: Problem[] } {
  const problems: Problem[] = []
  const names = Object.keys(settings) as (keyof Settings)[]
  const values = names.map((name) => {
    const { default: byDefault, parse } = settings[name]
    try {
      return [name, parse(env[name] ?? byDefault)]
    } catch (error) {
      problems.push({ name, text: `${name} ${(error as SyntaxError).message}. ${valueText(name, env, file)}` })
      return [name, parse(byDefault)]
    }
  })
  const config: Config = Object.fromEntries(values)
  const invalid = problems.map(({ name }) => name)
  for (const { others, ...problem } of contradictions(config)) {
    if (others.some((name) => invalid.includes(name))) continue
    problems.push({ ...problem, text: `${problem.text} ${valueText(problem.name, env, file)}` })
    Object.assign(config, { [problem.name]: settings[problem.name].parse(settings[problem.name].default) })
  }
  if (config.PUBLIC_URL === LOCAL_URL) {
    config.PUBLIC_URL = `${config.TLS_CERT_FILE ? 'https' : 'http'}://localhost:${config.PORT}`
  }
  const { DATABASE_URL: location, DATABASE_PASSWORD_FILE: passwordFile } = config
  if (location.kind === 'postgres') {
    config.DATABASE_URL = { ...location, passwordFile, password: location.password ?? env.PGPASSWORD }
  }
  return { config, problems }
}

/** Like `parseSettings`, but throws OperatorError if there are problems: its message has one on each line. */
export function readConfig(env: NodeJS.ProcessEnv, file?: NodeJS.Dict<string>): Config {
  const { config, problems } = parseSettings(env, file)
  if (problems.length === 0) return config
  throw new OperatorError(problems.map(({ text }) => text).join('\n'))
}

/** The settings of the identity provider; undefined if there is none. */
export function providerSettings(config: Config): ProviderSettings | undefined {
  const { OIDC_ISSUER: issuer, OIDC_CLIENT_ID, OIDC_CLIENT_SECRET_FILE, OIDC_ADMINS, OIDC_VIEWERS, ADMIN_URL } = config
  if (issuer === undefined) return undefined
  // `contradictions` has made sure that they are set.
  const [clientId, secretFile] = [OIDC_CLIENT_ID as string, OIDC_CLIENT_SECRET_FILE as string]
  const rules = { admin: OIDC_ADMINS, viewer: OIDC_VIEWERS }
  return { issuer, clientId, secretFile, rules, callbackUrl: `${ADMIN_URL}/login/callback` }
}

/** The files that say where notices go; undefined if there are none. */
export function noticeFiles({ NOTICE_URL_FILE, NOTICE_SECRET_FILE }: Config) {
  return NOTICE_URL_FILE === undefined ? undefined : { urlFile: NOTICE_URL_FILE, secretFile: NOTICE_SECRET_FILE }
}

/** Where the value of a setting comes from. `file`: the content of `.env`. */
export function originOf(name: keyof Settings, env: NodeJS.ProcessEnv, file: NodeJS.Dict<string>): string {
  if (env[name] === undefined) return 'the default'
  return env[name] === file[name] ? '.env' : 'the environment'
}

/** A sentence about an invalid value. It does not repeat a URL, or a part of one: that may contain a password. */
function valueText(name: keyof Settings, env: NodeJS.ProcessEnv, file: NodeJS.Dict<string>): string {
  const mayBeSecret = name.endsWith('_URL') || env[name]?.includes('@')
  return `It is ${mayBeSecret ? 'set' : JSON.stringify(env[name])} in ${originOf(name, env, file)}.`
}

function contradictions(config: Config) {
  const { WORKERS, DATABASE_URL, ADMIN_ADDRESS, OPS_ADDRESS, HOST, PORT } = config
  const found: (Problem & { others: (keyof Settings)[] })[] = []
  const add = (name: keyof Settings, rule: string, ...others: (keyof Settings)[]) =>
    found.push({ name, others, text: `${name} must ${rule}.` })
  if (WORKERS > 1 && isInMemory(DATABASE_URL)) add('WORKERS', 'be 1 if the store is in memory')
  if (isSame(ADMIN_ADDRESS, { host: HOST, port: PORT })) {
    add('ADMIN_ADDRESS', 'not be the address of HOST and PORT, which is for clients', 'HOST', 'PORT')
  }
  const role = config.OIDC_VIEWERS ? 'OIDC_VIEWERS' : 'OIDC_ADMINS'
  const needed = (['ADMIN_URL', 'OIDC_CLIENT_ID', 'OIDC_CLIENT_SECRET_FILE', role] as const).filter(
    (name) => config[name] === undefined,
  )
  if (config.OIDC_ISSUER && needed.length > 0) add('OIDC_ISSUER', `be none without ${needed.join(', ')}`, ...needed)
  if (config.OPERATORS === 'provider' && !config.OIDC_ISSUER) {
    add('OPERATORS', 'be any without OIDC_ISSUER', 'OIDC_ISSUER')
  }
  if (config.NOTICE_SECRET_FILE && !config.NOTICE_URL_FILE) {
    add('NOTICE_SECRET_FILE', 'be none without NOTICE_URL_FILE', 'NOTICE_URL_FILE')
  }
  if (isSame(ADMIN_ADDRESS, OPS_ADDRESS)) add('ADMIN_ADDRESS', 'not be the address of OPS_ADDRESS')
  for (const prefix of ['', 'ADMIN_', 'OPS_'] as const) {
    const pair = [`${prefix}TLS_CERT_FILE`, `${prefix}TLS_KEY_FILE`] as const
    const [given, missing] = config[pair[0]] === undefined ? pair.toReversed() : pair
    if (config[given] && !config[missing]) add(given, `be none without ${missing}`)
  }
  if (ADMIN_ADDRESS && 'socket' in ADMIN_ADDRESS && config.ADMIN_TLS_CERT_FILE) {
    add('ADMIN_TLS_CERT_FILE', 'be none if ADMIN_ADDRESS is a Unix socket', 'ADMIN_ADDRESS')
  }
  if (config.OPS_CLIENT_CA_FILE && !config.OPS_TLS_CERT_FILE) {
    add('OPS_CLIENT_CA_FILE', 'be none without OPS_TLS_CERT_FILE', 'OPS_TLS_CERT_FILE')
  }
  if (config.HANDOVER && config.PUBLIC_URL !== LOCAL_URL && isPlainTextUrl(config.PUBLIC_URL)) {
    add('HANDOVER', 'be off unless PUBLIC_URL is an https URL (http for this machine only)', 'PUBLIC_URL')
  }
  return found
}

/** The files of the certificate of each listener that is on and speaks TLS. */
export function certificateFiles(config: Config) {
  const { TLS_CERT_FILE, TLS_KEY_FILE, OPS_ADDRESS, OPS_CLIENT_CA_FILE, ADMIN_ADDRESS } = config
  const files = (certificate: string | undefined, key: string | undefined, clientCa?: string) =>
    certificate === undefined || key === undefined ? undefined : { certificate, key, clientCa }
  return {
    public: files(TLS_CERT_FILE, TLS_KEY_FILE),
    admin: ADMIN_ADDRESS && files(config.ADMIN_TLS_CERT_FILE, config.ADMIN_TLS_KEY_FILE),
    ops: OPS_ADDRESS && files(config.OPS_TLS_CERT_FILE, config.OPS_TLS_KEY_FILE, OPS_CLIENT_CA_FILE),
  }
}

/** Where hand-over links lead; undefined if they are off. */
export function handOverUrl({ HANDOVER, PUBLIC_URL }: Pick<Config, 'HANDOVER' | 'PUBLIC_URL'>): string | undefined {
  return HANDOVER ? PUBLIC_URL + HAND_OVER_PATH : undefined
}

/** Where suites reach introspection. */
export function introspectionUrl({ INTROSPECTION_URL, PUBLIC_URL = '' }: Partial<Config>): string {
  return INTROSPECTION_URL ?? `${PUBLIC_URL}/v1/oauth/introspect`
}

/** Defines a setting. `parse` throws a SyntaxError that explains what is wrong without repeating the value. */
function setting<Value>(byDefault: string, meaning: string, parse: (text: string) => Value) {
  return { default: byDefault, meaning, parse }
}

/** `mayBeEmpty`: it was accepted before 1.1.0. */
function fileSetting(meaning: string, { mayBeEmpty = false } = {}) {
  const parse = (file: string) => valid(file, mayBeEmpty || file !== '', 'must be the path of a file, or none')
  return setting('none', meaning, optional('none', parse))
}

function valid<Value>(value: Value, isValid: boolean, message: string): Value {
  if (isValid) return value
  throw new SyntaxError(message)
}

function oneOf<Word extends string>(...words: Word[]): (text: string) => Word {
  const message = `must be ${words.slice(0, -1).join(', ')} or ${words.at(-1)}`
  return (text) => valid(text as Word, words.includes(text as Word), message)
}

function onOrOff(text: string): boolean {
  return oneOf('on', 'off')(text) === 'on'
}

/** `absent`: the word that means no value. */
function optional<Value>(absent: string, parse: (text: string) => Value): (text: string) => Value | undefined {
  return (text) => (text === absent ? undefined : parse(text))
}

/** Parses `claim=value,value`. */
function parseClaimRule(text: string): ClaimRule {
  const [, claim = '', list = ''] = /^([^=\s]+)=(.+)$/.exec(text) ?? []
  const values = list.split(',').map((value) => value.trim())
  return valid({ claim, values }, !values.includes(''), 'must be a claim and its values, such as groups=a,b, or none')
}

/** Parses a number above 0 with at most this many digits, or a word that stands for the given number. */
function number(digits: number, word: string, meaning: number): (text: string) => number {
  const message = `must be a number from 1 to ${10 ** digits - 1}, or ${word}`
  return (text) => {
    if (text === word) return meaning
    return valid(Number(text), /^[1-9]\d*$/.test(text) && text.length <= digits, message)
  }
}

function isPort(text: string): boolean {
  return /^\d{1,5}$/.test(text) && Number(text) <= 65535
}

/** Parses HOST:PORT and [HOST]:PORT; undefined for any other text. */
function parseAddress(text: string): Address | undefined {
  const [, inBrackets = '::', plain, port] = /^(?:\[([^\]]+)\]|([^\s:]+)):(\d{1,5})$/.exec(text) ?? []
  if (port === undefined || isIP(inBrackets) !== 6 || !isPort(port)) return undefined
  return { host: plain ?? inBrackets, port: Number(port) }
}

function isSame(one: AdminPlace | undefined, other: Address | undefined): boolean {
  if (!one || 'socket' in one || !other || other.port === 0) return false
  return one.host === other.host && one.port === other.port
}

function isHttpUrl(text: string): boolean {
  return /^https?:\/\/[^\s"\\]+$/.test(text) && URL.canParse(text)
}
