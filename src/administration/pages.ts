import type { ApplicationNames } from '../domain/application.ts'
import { OperatorError } from '../domain/operator-error.ts'
import type { Page, Store } from '../domain/store.ts'

const PAGE_SIZE = 500

interface Keyed {
  readonly key: unknown
}

type List<Row extends Keyed> = (page: Page<Row['key']>) => Promise<Row[]>

export interface PageQuery {
  /** `next` of the previous page. */
  after?: string | undefined
  limit: number
}

/** `next`: the cursor of the next page; undefined on the last one. Throws OperatorError if `after` is not a cursor. */
export async function pageOf<Row extends Keyed>({ after, limit }: PageQuery, list: List<Row>) {
  // One row more than fits shows whether there is a next page.
  const found = await list({ after: after === undefined ? undefined : keyOf<Row['key']>(after), limit: limit + 1 })
  const rows = found.slice(0, limit)
  return { rows, next: found.length > limit ? cursorOf(rows.at(-1)?.key) : undefined }
}

export async function allPages<Row extends Keyed>(list: List<Row>): Promise<Row[]> {
  const pages = stepsOf<Row>((last) => list({ after: last?.key, limit: PAGE_SIZE }), PAGE_SIZE)
  return (await Array.fromAsync(pages)).flat()
}

/** The opaque cursor of a row, given its numeric key in the store. */
export function cursorOf(key: unknown): string {
  return Buffer.from(String(key)).toString('base64url')
}

export function isCursor(text: string): boolean {
  const key = textOf(text)
  return /^[1-9]\d{0,14}$/.test(key) && cursorOf(key) === text
}

/** The key in a cursor. Throws OperatorError if the cursor is malformed. */
export function keyOf<RowKey>(cursor: string): RowKey {
  if (isCursor(cursor)) return Number(textOf(cursor)) as RowKey
  throw new OperatorError('This is not a valid cursor. Leave it out to start at the first page.', { kind: 'invalid' })
}

function textOf(cursor: string): string {
  return Buffer.from(cursor, 'base64url').toString()
}

/** Names read and compared per step, which takes less than a millisecond. Smaller steps would mean more round trips to PostgreSQL. */
export const NAMES_PER_STEP = 500

/** How many rows are handled per step if each takes more work. */
export const ROWS_PER_STEP = 100

/** Pause between steps, so that a search leaves most of the CPU to others: the same process may be issuing tokens. */
const PAUSE_MS = 1

/** The names of all applications, newest first, in steps between which other requests are handled. */
export function stepsOfNames(
  store: Pick<Store, 'listNames'>,
  { after, suite, limit: size }: Parameters<Store['listNames']>[0] = { limit: NAMES_PER_STEP },
): AsyncGenerator<ApplicationNames[]> {
  return stepsOf((last) => store.listNames({ after: last?.key ?? after, limit: size, suite }), size)
}

/** The rows of a list in steps of this size. `list` returns those that follow a row, or the first ones. */
export async function* stepsOf<Row>(list: (last?: Row) => Promise<Row[]>, size: number): AsyncGenerator<Row[]> {
  let last: Row | undefined
  for (;;) {
    const rows = await list(last)
    yield rows
    if (rows.length < size) return
    last = rows.at(-1)
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
    // On a busy machine the next timer may already be due, and would fire before waiting requests are read.
    await new Promise(setImmediate)
  }
}

export type Order<Row> = (one: Row, other: Row) => number

/** The first `limit` of sorted rows and of a step of more that follow them. Equal ones stay in their order. */
export function firstOf<Row>(sorted: Row[], more: Row[], order: Order<Row>, limit: number): Row[] {
  const last = sorted[limit - 1]
  const candidates = last === undefined ? more : more.filter((one) => order(one, last) < 0)
  if (candidates.length === 0) return sorted
  // Each gets its place by bisection: to sort all again would compare all that were found before in every step.
  const parts: Row[][] = []
  let taken = 0
  for (const one of candidates.toSorted(order)) {
    const place = placeAfter(one, sorted, order, taken)
    parts.push(sorted.slice(taken, place), [one])
    taken = place
  }
  return [...parts, sorted.slice(taken)].flat().slice(0, limit)
}

/** How many of the sorted rows come before this one, or are equal to it. At least `low` of them do. */
function placeAfter<Row>(one: Row, sorted: readonly Row[], order: Order<Row>, low: number): number {
  let high = sorted.length
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    if (order(sorted[middle] as Row, one) > 0) high = middle
    else low = middle + 1
  }
  return low
}
