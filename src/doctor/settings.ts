import { availableParallelism } from 'node:os'
import { type Config, originOf, type parseSettings, settings } from '../config.ts'
import { isInMemory } from '../domain/database-location.ts'
import { isLocalHost, isPlainTextUrl, isWildcard } from '../web/address.ts'
import { error, type Finding, note, ok, warning } from './finding.ts'

export interface SettingsSource {
  env: NodeJS.ProcessEnv
  /** The entries of `.env`, which apply if the environment has none. */
  file: NodeJS.Dict<string>
  fileName: string
  warnings: string[]
  errors: string[]
}

export type ParsedSettings = ReturnType<typeof parseSettings>

/** Reports every setting with its value and origin, and every problem. */
export function checkSettings(source: SettingsSource, { problems }: ParsedSettings): Finding[] {
  const names = Object.keys(settings) as (keyof Config)[]
  return [
    ...source.errors.map((text) =>
      error(text, 'The server does not start until this is fixed. The other findings ignore it.'),
    ),
    ...problems.map(({ text }) => error(text)),
    ...names.filter((name) => !isWrong(problems, name)).map((name) => ok(settingText(source, name))),
    ...source.warnings.map((text) => warning(text)),
    ...unknownEntries(source),
  ]
}

export function isWrong(problems: ParsedSettings['problems'], name: keyof Config): boolean {
  return problems.some((problem) => problem.name === name)
}

function settingText(source: SettingsSource, name: keyof Config): string {
  const env = { ...source.file, ...source.env }
  const origin = originOf(name, env, source.file).replace('the ', '')
  return `${name} is ${withoutPassword(env[name] ?? settings[name].default)} (${origin})`
}

function withoutPassword(value: string): string {
  return value.replace(/^(postgres(?:ql)?:\/\/[^:@/?#]+):[^@/?#]*@/, '$1:…@')
}

/** No settings of this program, but used by the store. */
const USED = ['PGPASSWORD', 'PGPASSFILE']

function unknownEntries({ file, fileName, warnings }: SettingsSource): Finding[] {
  const unknown = Object.keys(file).filter((name) => !Object.hasOwn(settings, name) && !USED.includes(name))
  // Names that look like a misspelt setting have a warning of their own.
  const others = unknown.filter((name) => !warnings.some((text) => text.includes(` ${name} `)))
  return others.length === 0 ? [] : [note(`${fileName} has names that are not settings: ${others.join(', ')}.`)]
}

/** Reports combinations of valid settings that are probably a mistake. */
export function checkCombinations({ env, file }: SettingsSource, { config, problems }: ParsedSettings): Finding[] {
  if (problems.length > 0) return []
  const { LOG_LEVEL, WORKERS, DATABASE_URL, FAILURE_LIMIT, OPS_ADDRESS } = config
  const publicUrl = env.PUBLIC_URL ?? file.PUBLIC_URL ?? settings.PUBLIC_URL.default
  const cores = availableParallelism()
  const findings = [
    checkPublicUrl(config, publicUrl !== settings.PUBLIC_URL.default),
    config.TRUST_PROXY === false &&
      config.TLS_CERT_FILE === undefined &&
      config.PUBLIC_URL.startsWith('https:') &&
      warning(
        'TRUST_PROXY is off, but PUBLIC_URL is https, so there is a proxy: all clients seem to have its address.',
        'Set TRUST_PROXY to the address of the proxy. Otherwise a limit per address stops all clients at once.',
      ),
    !/^(debug|info)$/.test(LOG_LEVEL) &&
      warning(`LOG_LEVEL is ${LOG_LEVEL}: refusals and changes are not logged.`, 'Set it to info for an audit trail.'),
    WORKERS > cores &&
      note(`WORKERS is ${WORKERS}, and this machine has ${cores} cores.`, 'More workers than cores are no faster.'),
    isInMemory(DATABASE_URL) &&
      warning('DATABASE_URL names a store in memory, which is lost when the server stops.', 'Name a file.'),
    !FAILURE_LIMIT && note('FAILURE_LIMIT is off: guessing secrets is not slowed down.'),
    OPS_ADDRESS &&
      config.OPS_CLIENT_CA_FILE === undefined &&
      isWildcard(OPS_ADDRESS.host) &&
      note(
        `OPS_ADDRESS is ${OPS_ADDRESS.host}: everyone who can reach this machine can reach port ${OPS_ADDRESS.port}.`,
        'It asks for no password, so this is right only in a container that does not publish the port.',
      ),
    checkAdministration(config),
  ]
  return findings.filter((finding) => finding !== undefined && finding !== false)
}

function checkPublicUrl({ PUBLIC_URL, HOST }: Config, isSet: boolean): Finding | undefined {
  if (isSet) {
    if (!isPlainTextUrl(PUBLIC_URL)) return undefined
    const text = `PUBLIC_URL is ${PUBLIC_URL}: secrets and tokens cross the network in plain text.`
    return warning(text, 'Set TLS_CERT_FILE, or set up a TLS proxy, and use its https address.')
  }
  const text = `PUBLIC_URL has its default, ${PUBLIC_URL}, which clients on other machines cannot reach.`
  const advice = 'Set it to the address that clients use: the metadata contains it.'
  return isLocalHost(HOST) ? note(text, advice) : warning(text, advice)
}

function checkAdministration({ ADMIN_ADDRESS: place, ADMIN_URL, ADMIN_TLS_CERT_FILE }: Config): Finding | undefined {
  if (!place) return ADMIN_URL === undefined ? undefined : note('ADMIN_URL is set, but ADMIN_ADDRESS is off.')
  if (ADMIN_URL !== undefined || 'socket' in place || isLocalHost(place.host)) return undefined
  if (ADMIN_TLS_CERT_FILE !== undefined) {
    const text = `ADMIN_ADDRESS is ${place.host}, and ADMIN_URL is none: the console refuses the name in its certificate.`
    return warning(text, 'Set ADMIN_URL to the https address that operators use.')
  }
  return warning(
    `ADMIN_ADDRESS is ${place.host}, which other machines may reach, and ADMIN_URL names no TLS proxy in front of it.`,
    'Set ADMIN_TLS_CERT_FILE or set up a TLS proxy, and set ADMIN_URL to the https address, or use 127.0.0.1 or a Unix socket with ssh -L.',
  )
}
