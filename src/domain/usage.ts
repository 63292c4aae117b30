import type { ApplicationKey } from './application.ts'

/** How many tokens an application asked for in an hour. */
export interface TokenCount {
  readonly applicationKey: ApplicationKey
  /** Hours since the epoch. */
  readonly hour: number
  readonly issued: number
  /** Those that were more than its quota. */
  readonly refused: number
}

/** What is to be added to such a count. */
export interface TokenCountChange extends TokenCount {
  /** When the last of them was issued, in milliseconds since the epoch; null: none was. */
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

/** How often a server stores what it has counted, in milliseconds: so old is what is known of tokens and uses of secrets. */
export const USAGE_INTERVAL_MS = 60_000

/** An hour in milliseconds. */
export const HOUR = 60 * 60 * 1000

/** The hour of a time in milliseconds since the epoch, as hours since the epoch. */
export function hourOf(time: number): number {
  return Math.floor(time / HOUR)
}
