import { isDay, MINUTE } from '../../domain/time.ts'
import { DAY, HOUR, PERIOD_NAMES, PERIODS, type Period, type TimeRange } from '../../domain/usage.ts'
import { address, type Html, html } from '../../web/html.ts'
import { links, sentence } from './components.ts'
import { type FieldError, field, hidden, statesOf, textsIn } from './forms.ts'

/** How an address names a time range: the last hour, day or week, or from a time to another one. */
export const RANGE_NAMES = ['period', 'since', 'until'] as const

export interface Range extends TimeRange {
  query: Record<(typeof RANGE_NAMES)[number], string>
  /** Undefined if the range is from a time to another one, or if there is none. */
  period: Period | undefined
  /** `in the last 24 hours`, `from 2027-01-15 08:00 to 2027-01-16 08:00 UTC`. */
  words: string
  wrong: readonly (FieldError & { message: string })[]
}

/** The range in the query of an address. `usual`: the period of one that names none. */
export function rangeIn(asked: unknown, now: number, usual?: Period): Range {
  const query = textsIn(RANGE_NAMES, asked)
  const since = timeOf(query.since) || undefined
  // The whole day or minute.
  const until = timeOf(query.until) + (isDay(query.until) ? DAY : MINUTE) || undefined
  const times = { since, until }
  const message = 'Write a time like this: 2027-01-31T15:16, or a day: 2027-01-31.'
  const wrong = (['since', 'until'] as const)
    .filter((name) => query[name] !== '' && times[name] === undefined)
    .map((field) => ({ field, message }))
  const period = since || until ? undefined : (PERIOD_NAMES.find((period) => period === query.period) ?? usual)
  if (!period) return { query, period, since, until, words: between(since, until), wrong }
  const length = PERIODS[period].span * PERIODS[period].count
  return { query, period, since: now - length, until, words: `in the last ${lengthOf(length)}`, wrong }
}

/** A time in UTC, or the beginning of a day, in milliseconds since the epoch. */
function timeOf(text: string): number {
  const whole = isDay(text) ? `${text}T00:00` : text
  return isDay(text.slice(0, 10)) && /^.{10}T\d\d:\d\d(:\d\d)?$/.test(whole) ? Date.parse(`${whole}Z`) : Number.NaN
}

function lengthOf(length: number): string {
  if (length <= HOUR) return '60 minutes'
  return length <= DAY ? `${length / HOUR} hours` : `${length / DAY} days`
}

function between(since: number | undefined, until: number | undefined): string {
  const at = (word: string, time?: number) => time && `${word} ${new Date(time).toISOString().slice(0, 16)}`
  return [at('from', since), at('to', until), 'UTC'].filter(Boolean).join(' ').replace(/(\d)T/g, '$1 ')
}

interface Place {
  /** The part of the page that the links lead to. */
  part?: string
  /** The period of an address that names none. Without it, there is a link to any time. */
  usual?: Period
  /** The filter of a list, in whose form the control is. */
  filter?: Readonly<Record<string, string>>
}

/** Links to the periods, and two fields for a range from a time to another one. */
export function rangeControl(base: string, range: Range, { part = '', usual, filter }: Place): Html {
  const { query, period, since, until, wrong, words } = range
  const isOther = query.since + query.until !== ''
  const stateOf = statesOf(wrong)
  const hrefOf = (name: string) => `${address(base, { ...filter, period: name, since: '', until: '' })}${part}`
  const all = [...(usual ? [] : ['']), ...PERIOD_NAMES].map((name) => [hrefOf(name), labelOf(name)] as const)
  const tabs = links('tabs', 'Time range', all, isOther ? undefined : hrefOf(period ?? ''))
  const whole = { since: 'T00:00', until: 'T23:59' }
  const fields = (['since', 'until'] as const).map((name) => {
    const value = isDay(query[name]) ? query[name] + whole[name] : query[name]
    return field({ label: `${sentence(name)} (UTC)`, name, type: 'datetime-local', value, ...stateOf(name) })
  })
  const onPaper = (since || until) && html`<p class="print-only">${sentence(words)}</p>`
  if (filter) return html`${tabs}${onPaper}${query.period !== '' && hidden({ period: query.period })}${fields}`
  return html`${tabs}${onPaper}<details class="range"${isOther && html` open`}><summary>From–to</summary><form class="filters" method="get" action="${base}${part}">${fields}<button class="button">Show</button></form></details>`
}

function labelOf(period: string): string {
  return period === '' ? 'Any time' : period.replace('h', ' h').replace('d', ' days')
}
