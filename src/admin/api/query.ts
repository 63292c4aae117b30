import type { FastifySchema } from 'fastify'
import { isCursor, keyOf } from '../../administration/pages.ts'
import { isDay } from '../../domain/time.ts'
import { ProblemError } from '../wire/problem.ts'

export type Query = Record<string, string | undefined>

/** The schema of optional query parameters. Their format is checked below. Only `label` may be repeated. */
export function query(...names: string[]): FastifySchema['querystring'] {
  const properties = Object.fromEntries(names.map((name) => [name, name === 'label' ? {} : { type: 'string' }]))
  return { type: 'object', additionalProperties: false, properties }
}

const DEFAULT_LIMIT = 50
const MAX_LIMIT = 200

/** A date-time of RFC 3339 §5.6. */
const RFC_3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/i

/** The requested page of a list. Like all functions here, throws ProblemError (400) for an invalid parameter. */
export function pageOptions(query: Query): { limit: number; after: string | undefined } {
  return { limit: limitOf(query), after: cursorIn('after', query) }
}

function limitOf({ limit = String(DEFAULT_LIMIT) }: Query): number {
  if (/^[1-9]\d{0,2}$/.test(limit) && Number(limit) <= MAX_LIMIT) return Number(limit)
  throw wrong('limit', `must be a whole number from 1 to ${MAX_LIMIT}`)
}

function cursorIn(name: string, { [name]: cursor }: Query): string | undefined {
  if (cursor === undefined || isCursor(cursor)) return cursor
  throw wrong(name, 'must be the value of next in the previous page')
}

/** The requested page of a list that is read backwards. */
export function olderThan(query: Query) {
  const cursor = cursorIn('before', query)
  return { before: cursor === undefined ? undefined : keyOf<number>(cursor), limit: limitOf(query) }
}

export const timesOf = (query: Query) => ({ since: timeOf('since', query), until: timeOf('until', query) })

/** The labels that a list is filtered by; the parameter may be repeated. */
export function labelsOf({ label }: Query): string[] | undefined {
  const labels = label === undefined ? [] : [label].flat()
  if (labels.includes('')) throw wrong('label', 'must be a key, or key=value')
  return labels.length > 0 ? labels : undefined
}

export function choiceOf<Word extends string>(
  name: string,
  words: readonly Word[],
  { [name]: value }: Query,
): Word | undefined {
  const found = words.find((word) => word === value)
  if (value !== undefined && found === undefined) throw wrong(name, `must be ${words.join(' or ')}`)
  return found
}

function timeOf(name: string, { [name]: value }: Query): number | undefined {
  if (value === undefined) return undefined
  const time = RFC_3339.test(value) ? Date.parse(value) : Number.NaN
  if (Number.isNaN(time) || !isDay(value.slice(0, 10)))
    throw wrong(name, 'must be a time with its zone, such as 2026-01-31T12:00:00Z')
  return time
}

function wrong(name: string, problem: string): ProblemError {
  return new ProblemError('malformed', `The parameter ${name} ${problem}.`)
}
