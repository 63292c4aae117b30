import type { About } from '../admin/context.ts'
import { type AdminPlace, type Config, settings } from '../config.ts'
import { hostInUrl } from '../domain/address.ts'
import { type DatabaseLocation, locationText } from '../domain/database-location.ts'
import { NODE_VERSION, VERSION } from '../version.ts'

const STORES = { sqlite: 'SQLite', postgres: 'PostgreSQL' } as const

/** Describes the server for the console: versions, and the given settings without passwords. */
export function describe(config: Partial<Config> & Pick<Config, 'DATABASE_URL'>, startedAt: number): About {
  const names = Object.keys(settings) as (keyof typeof settings)[]
  return {
    version: VERSION,
    node: NODE_VERSION,
    store: STORES[config.DATABASE_URL.kind],
    startedAt,
    settings: names
      .filter((name) => name in config)
      .map((name) => ({ name, value: textOf(config[name], settings[name].default), meaning: settings[name].meaning })),
  }
}

function textOf(value: Config[keyof Config] | undefined, defaultText: string): string {
  if (value === undefined) return defaultText
  if (value === Infinity || value === false) return 'off'
  if (value === true) return 'on'
  if (Array.isArray(value)) return value.join(', ')
  if (typeof value !== 'object') return String(value)
  return 'kind' in value ? databaseText(value) : placeText(value)
}

function databaseText(location: DatabaseLocation): string {
  return location.kind === 'sqlite' ? `sqlite:${location.file}` : locationText(location)
}

function placeText(place: AdminPlace): string {
  return 'socket' in place ? `unix:${place.socket}` : `${hostInUrl(place.host)}:${place.port}`
}
