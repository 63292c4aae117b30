import type { ApplicationKey } from './application.ts'

export interface TokenCount {
  readonly applicationKey: ApplicationKey
  /** Hours since the epoch. */
  readonly hour: number
  readonly issued: number
  /** Requests that were refused because of the quota. */
  readonly refused: number
}

export interface TokenCountChange extends TokenCount {
  /** When the last one was issued, in milliseconds since the epoch; null: none was. */
  readonly lastTokenAt: number | null
}

export interface ApplicationUse {
  readonly applicationKey: ApplicationKey
  /** Milliseconds since the epoch. */
  readonly lastTokenAt: number
}

/** When a secret last authenticated its application or suite. */
export interface SecretUse {
  readonly secretId: number
  /** Milliseconds since the epoch. */
  readonly lastUsedAt: number
}

/** How often a server stores token counts and uses of secrets, in milliseconds: stored figures can be this much out of date. */
export const USAGE_INTERVAL_MS = 60_000

/** In milliseconds. */
export const HOUR = 60 * 60 * 1000

/** From milliseconds to hours since the epoch. */
export function hourOf(time: number): number {
  return Math.floor(time / HOUR)
}

/** Tokens in an hour, the lifetime of a token: an application that gets more probably requests one for each call. */
export const MANY_TOKENS = 360

/** `since 12:00 UTC`: the period of a count of the current hour of the clock. `now`: milliseconds since the epoch. */
export function sinceFullHour(now: number): string {
  return `since ${new Date(now).toISOString().slice(11, 13)}:00 UTC`
}

/** Identifies a count: its hour and its application. */
export function countKey({ hour, applicationKey }: Pick<TokenCount, 'hour' | 'applicationKey'>): string {
  return `${hour} ${applicationKey}`
}
