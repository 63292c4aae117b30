import type { ApplicationKey, ApplicationNames } from './application.ts'

export interface TokenCount {
  readonly applicationKey: ApplicationKey
  /** Hours since the epoch. */
  readonly hour: number
  readonly issued: number
  /** Requests that were refused because of the quota. */
  readonly refused: number
}

export interface TokenUse extends TokenCount {
  /** When the last one was issued; null if none was. */
  readonly lastTokenAt: number | null
}

/** When, and from which address, a secret last authenticated its application or suite. */
export interface SecretUse {
  readonly secretId: number
  readonly lastUsedAt: number
  /** Null or undefined if it is not known. */
  readonly lastUsedFrom?: string | null | undefined
}

/** How often a server stores token counts and uses of secrets, in milliseconds: stored figures can be this much out of date. */
export const USAGE_INTERVAL_MS = 60_000

export const HOUR = 60 * 60 * 1000
const FIVE_MINUTES = HOUR / 12
export const DAY = 24 * HOUR

/** Converts milliseconds to hours since the epoch. */
export function hourOf(time: number): number {
  return Math.floor(time / HOUR)
}

/** Tokens in an hour, the lifetime of a token: an application that gets more probably requests one for each call. */
export const MANY_TOKENS = 360

/** `since 12:00 UTC`: the current clock hour, for which a quota counts. */
export function sinceFullHour(now: number): string {
  return `since ${new Date(now).toISOString().slice(11, 13)}:00 UTC`
}

export function countKey({ hour, applicationKey }: Pick<TokenCount, 'hour' | 'applicationKey'>): string {
  return `${hour} ${applicationKey}`
}

/** What a client did: tokens issued to it, refusals, and successful checks of its tokens or, for a suite, at the suite. */
export interface Counts {
  readonly tokens: number
  readonly checks: number
  readonly refusals: number
}

/** Counts of an application or a suite or, if the client id is empty, of all clients, registered or not. */
export interface ClientCounts extends Counts {
  readonly clientId: string
}

export interface SpanCounts extends ClientCounts {
  readonly since: number
}

export interface KeyCounts extends Counts {
  readonly key: ApplicationKey
}

export type ApplicationCounts = ApplicationNames & Counts

/** The spans for which usage is counted, and how long the counts are kept. Milliseconds. */
export const SPANS = [
  { span: FIVE_MINUTES, kept: 2 * HOUR },
  { span: HOUR, kept: 8 * DAY },
  { span: DAY, kept: 400 * DAY },
] as const

/** The last `count` spans, including the current one. */
interface Spans {
  readonly span: number
  readonly count: number
}

/** Twelve of these spans are the last 60 minutes. */
export const LAST_TWO_HOURS: Spans = { span: FIVE_MINUTES, count: 24 }

/** The points of each period's chart, and the few spans by which applications, of which there may be many, are compared. */
export const PERIODS = {
  '1h': { span: FIVE_MINUTES, count: 12, compared: { span: FIVE_MINUTES, count: 12 } },
  '24h': { span: HOUR, count: 24, compared: { span: HOUR, count: 24 } },
  '7d': { span: HOUR, count: 7 * 24, compared: { span: DAY, count: 7 } },
  '30d': { span: DAY, count: 30, compared: { span: DAY, count: 30 } },
} as const satisfies Record<string, Spans & { compared: Spans }>

export type Period = keyof typeof PERIODS

export const PERIOD_NAMES = Object.keys(PERIODS) as Period[]

/** When each of these spans began, oldest first. */
export function beginningsOf({ span, count }: Spans, now: number): number[] {
  return Array.from({ length: count }, (_, n) => now - (now % span) - (count - 1 - n) * span)
}

/** From a time to another one: of 24 hours, and until now, if only one of them is known. */
export interface TimeRange {
  readonly since: number | undefined
  readonly until: number | undefined
}

/** The spans of a range, as short as they are kept for so long; the first one begins before `since`. At least one. */
export function spansOf({ until, since = Number(until) - DAY }: TimeRange, now: number) {
  const { span, kept } = SPANS.find(({ kept }) => since >= now - kept) ?? SPANS[2]
  const first = Math.max(since, now - kept)
  const last = Math.max(Math.min(until ?? Infinity, now + 1), first + 1)
  return {
    span,
    beginnings: beginningsOf({ span, count: Math.ceil(last / span) - Math.floor(first / span) }, last - 1),
  }
}

const NOTHING: Counts = { tokens: 0, checks: 0, refusals: 0 }

export function sumOf(all: readonly Counts[]): Counts {
  return all.reduce(
    (sum, { tokens, checks, refusals }) => ({
      tokens: sum.tokens + tokens,
      checks: sum.checks + checks,
      refusals: sum.refusals + refusals,
    }),
    NOTHING,
  )
}
