import { availableParallelism } from 'node:os'
import { type Config, readConfig, settings } from '../config.ts'
import { isLocalHost, isWildcard } from '../domain/address.ts'
import { isInMemory } from '../domain/database-location.ts'
import type { OperatorError } from '../domain/operator-error.ts'
import { error, type Finding, note, ok, warning } from './finding.ts'

/** The settings as far as they can be read. */
export interface ReadSettings {
  /** Those that are wrong have their defaults here. */
  config: Config
  /** The names of those that are wrong. */
  wrong: string[]
  /** What is wrong, a sentence each that begins with a name. */
  problems: string[]
}

export interface SettingsSource {
  /** The environment of the process. */
  env: NodeJS.ProcessEnv
  /** What the file has, which counts where the environment has nothing; and its name. */
  file: NodeJS.Dict<string>
  fileName: string
  /** Sentences about what may not be meant, and about what cannot be read. */
  warnings: string[]
  errors: string[]
}

/** Reads the settings; in the place of each that is wrong its default. */
export function readSettings({ env, file }: Pick<SettingsSource, 'env' | 'file'>): ReadSettings {
  const rest = { ...file, ...env }
  const problems: string[] = []
  // Rules on two settings are looked at where each of them is right.
  for (let round = 0; round < 2; round++) {
    const found = problemsOf(rest)
    problems.push(...found)
    for (const problem of found) delete rest[nameIn(problem)]
  }
  return { config: readConfig(rest), wrong: problems.map(nameIn), problems }
}

function problemsOf(env: NodeJS.ProcessEnv): string[] {
  try {
    readConfig(env)
    return []
  } catch (error) {
    return (error as OperatorError).message.split('\n')
  }
}

/** The name that a problem begins with. */
function nameIn(problem: string): string {
  return problem.split(' ')[0] as string
}

/** Every setting with its value and where that comes from; and what is wrong with them. */
export function examineSettings(source: SettingsSource, { wrong, problems }: ReadSettings): Finding[] {
  const names = Object.keys(settings) as (keyof typeof settings)[]
  return [
    ...source.errors.map((text) => error(text, 'The server does not start with it.')),
    ...problems.map((text) => error(text, `Its value comes from: ${originOf(source, nameIn(text))}.`)),
    ...names.filter((name) => !wrong.includes(name)).map((name) => ok(settingText(source, name))),
    ...source.warnings.map((text) => warning(text)),
    ...unknownEntries(source),
  ]
}

function settingText(source: SettingsSource, name: keyof typeof settings): string {
  const value = source.env[name] ?? source.file[name] ?? settings[name].default
  return `${name} is ${withoutPassword(value)} (${originOf(source, name)})`
}

function originOf({ env, file, fileName }: SettingsSource, name: string): string {
  if (env[name] !== undefined) return 'environment'
  return file[name] !== undefined ? fileName : 'default'
}

/** The password in the address of a PostgreSQL database. */
function withoutPassword(value: string): string {
  return value.replace(/^(postgres(?:ql)?:\/\/[^:@/?#]+):[^@/?#]*@/, '$1:…@')
}

function unknownEntries({ file, fileName, warnings }: SettingsSource): Finding[] {
  const unknown = Object.keys(file).filter((name) => !Object.hasOwn(settings, name))
  // Those that look like a setting have a sentence of their own.
  const others = unknown.filter((name) => !warnings.some((text) => text.includes(` ${name} `)))
  return others.length === 0 ? [] : [note(`${fileName} has what is no setting: ${others.join(', ')}.`)]
}

/** Settings that are right one by one, and together may not be what is meant. */
export function examineCombinations({ env, file }: SettingsSource, { config, wrong }: ReadSettings): Finding[] {
  const isSet = (name: keyof Config) => (env[name] ?? file[name] ?? settings[name].default) !== settings[name].default
  const findings = [
    publicUrl(config, isSet('PUBLIC_URL')),
    proxies(config),
    log(config),
    workers(config),
    memory(config),
    failures(config),
    operators(config),
    administration(config),
  ]
  return wrong.length > 0 ? [] : findings.filter((finding) => finding !== undefined)
}

function publicUrl({ PUBLIC_URL, HOST }: Config, isSet: boolean): Finding | undefined {
  const { protocol, hostname } = new URL(PUBLIC_URL)
  if (isSet && protocol === 'http:' && !isLocalHost(withoutBrackets(hostname))) {
    const text = `PUBLIC_URL is ${PUBLIC_URL}: secrets and tokens cross the network in clear.`
    return warning(text, 'Put TLS in front, and name the https address.')
  }
  if (isSet) return undefined
  const text = `PUBLIC_URL is left at its default, ${PUBLIC_URL}, which clients on other machines cannot reach.`
  const advice = 'Name the address that clients use: the metadata has it.'
  return isLocalHost(HOST) ? note(text, advice) : warning(text, advice)
}

function proxies({ PUBLIC_URL, TRUST_PROXY }: Config): Finding | undefined {
  if (TRUST_PROXY !== false || !PUBLIC_URL.startsWith('https:')) return undefined
  // The server has no TLS of its own.
  const text = 'TRUST_PROXY is off though PUBLIC_URL is https, so a proxy is in front: all clients have its address.'
  return warning(text, 'Name the proxy in TRUST_PROXY; else the limits per address stop everybody at once.')
}

function log({ LOG_LEVEL }: Config): Finding | undefined {
  if (LOG_LEVEL === 'debug' || LOG_LEVEL === 'info') return undefined
  return warning(
    `LOG_LEVEL is ${LOG_LEVEL}: refusals and changes are not logged.`,
    'Set it to info for an audit trail.',
  )
}

function workers({ WORKERS }: Config): Finding | undefined {
  const cores = availableParallelism()
  if (WORKERS <= cores) return undefined
  return note(
    `WORKERS is ${WORKERS}, and this machine has ${cores} cores.`,
    'More workers than cores make nothing faster.',
  )
}

function memory({ DATABASE_URL }: Config): Finding | undefined {
  if (!isInMemory(DATABASE_URL)) return undefined
  return warning('DATABASE_URL names a store in memory, which is gone when the server ends.', 'Name a file.')
}

function failures({ FAILURE_LIMIT }: Config): Finding | undefined {
  return FAILURE_LIMIT ? undefined : note('FAILURE_LIMIT is off: guessing secrets is not slowed down.')
}

function operators({ OPS_ADDRESS }: Config): Finding | undefined {
  if (!OPS_ADDRESS || !isWildcard(OPS_ADDRESS.host)) return undefined
  const text = `OPS_ADDRESS is ${OPS_ADDRESS.host}: all who reach this machine reach its port ${OPS_ADDRESS.port}.`
  return note(text, 'That is right in a container whose port is not published: it asks for no password.')
}

function administration({ ADMIN_ADDRESS: place, ADMIN_URL }: Config): Finding | undefined {
  if (!place) return ADMIN_URL === undefined ? undefined : note('ADMIN_URL is set, and ADMIN_ADDRESS is off.')
  if (ADMIN_URL?.startsWith('http:') && !isLocalHost(withoutBrackets(new URL(ADMIN_URL).hostname))) {
    const text = `ADMIN_URL is ${ADMIN_URL}: admin keys and sessions cross the network in clear.`
    return warning(text, 'Put TLS in front, and name the https address.')
  }
  if ('socket' in place || isLocalHost(place.host) || ADMIN_URL !== undefined) return undefined
  const text = `ADMIN_ADDRESS is ${place.host}, which other machines may reach, and ADMIN_URL names no TLS in front of it.`
  return warning(text, 'Put TLS in front and name it in ADMIN_URL, or use 127.0.0.1 or a Unix socket, and ssh -L.')
}

function withoutBrackets(hostname: string): string {
  return hostname.replace(/^\[|\]$/g, '')
}
