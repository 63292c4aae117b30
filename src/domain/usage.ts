import type { Application, ApplicationKey } from './application.ts'
import { choice, list, object, type SourceOf, time, whole } from './schema.ts'

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
const FIVE_MINUTES = HOUR / 12
const DAY = 24 * HOUR

/** From milliseconds to hours since the epoch. */
export function hourOf(time: number): number {
  return Math.floor(time / HOUR)
}

/** Tokens in an hour, the lifetime of a token: an application that gets more probably requests one for each call. */
export const MANY_TOKENS = 360

/** Whether an application gets so many tokens that the log warns. `tokensThisHour`: in the last 60 minutes. */
export function isHeavy({ tokensThisHour }: { tokensThisHour: number }): boolean {
  return tokensThisHour > MANY_TOKENS
}

/** Whether an application may get tokens, but has got none for a week, or never. `now`: milliseconds since the epoch. */
export function isQuiet(
  { status, lastTokenAt = 0 }: Pick<Application, 'status'> & { lastTokenAt: number | undefined },
  now: number,
): boolean {
  return status === 'active' && now - lastTokenAt > 7 * DAY
}

/** `since 12:00 UTC`: the current hour of the clock, for which a quota counts. `now`: milliseconds since the epoch. */
export function sinceFullHour(now: number): string {
  return `since ${new Date(now).toISOString().slice(11, 13)}:00 UTC`
}

/** Identifies a count: its hour and its application. */
export function countKey({ hour, applicationKey }: Pick<TokenCount, 'hour' | 'applicationKey'>): string {
  return `${hour} ${applicationKey}`
}

/** What a client did: tokens that it got, checks that found them valid (of a suite: its valid checks), and refusals. */
export interface Counts {
  tokens: number
  checks: number
  refusals: number
}

/** Counts of an application or a suite by its client id. Empty: of all clients together, also of those not registered. */
export interface ClientCounts extends Counts {
  readonly clientId: string
}

/** The counts of a client in a span that began at this time, in milliseconds since the epoch. */
export interface SpanCounts extends ClientCounts {
  readonly since: number
}

/** The spans for which usage is counted, and how long the counts are kept, in milliseconds. */
export const SPANS = [
  { span: FIVE_MINUTES, kept: 2 * HOUR },
  { span: HOUR, kept: 8 * DAY },
  { span: DAY, kept: 400 * DAY },
] as const

/** The last `count` spans, the current one included. */
export interface Spans {
  readonly span: number
  readonly count: number
}

/** The last two hours: twelve spans are the last 60 minutes. */
export const LAST_TWO_HOURS: Spans = { span: FIVE_MINUTES, count: 24 }

/** The spans of each period, and those with which clients are compared: few, so that they are soon added up. */
export const PERIODS = {
  '1h': { span: FIVE_MINUTES, count: 12, compared: { span: FIVE_MINUTES, count: 12 } },
  '24h': { span: HOUR, count: 24, compared: { span: HOUR, count: 24 } },
  '7d': { span: HOUR, count: 7 * 24, compared: { span: DAY, count: 7 } },
} as const satisfies Record<string, Spans & { compared: Spans }>

export type Period = keyof typeof PERIODS

export const PERIOD_NAMES = Object.keys(PERIODS) as Period[]

/** When each of these spans began, oldest first. Milliseconds since the epoch. */
export function beginningsOf({ span, count }: Spans, now: number): number[] {
  const current = now - (now % span)
  return Array.from({ length: count }, (_, n) => current - (count - 1 - n) * span)
}

const COUNTS = {
  tokens: whole('Tokens that it got; of a suite always 0'),
  checks: whole('Checks that found its tokens valid; of a suite its valid checks and introspections'),
  refusals: whole('Requests that were refused, and checks that found its tokens not valid; of a suite likewise'),
}

export const USAGE = object('Usage', 'What an application or a suite did, on all nodes, up to a minute late', {
  period: choice(PERIOD_NAMES, 'The period, up to now'),
  step_seconds: whole('The length of each point'),
  ...COUNTS,
  points: list(
    'The parts of the period, oldest first; the last one is not over yet',
    object('UsagePoint', 'What it did in a part of the period', { since: time('When it began'), ...COUNTS }),
  ),
})

export type Usage = SourceOf<typeof USAGE>
