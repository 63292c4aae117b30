import { availableParallelism } from 'node:os'
import { type Config, settings } from '../config.ts'
import { isLocalHost } from '../domain/address.ts'
import { isInMemory } from '../domain/database-location.ts'
import { type Finding, note, warning } from './finding.ts'
import type { ReadSettings, SettingsSource } from './settings.ts'

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
  if (OPS_ADDRESS?.host !== '0.0.0.0' && OPS_ADDRESS?.host !== '::') return undefined
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
