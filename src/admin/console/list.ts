import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Administration } from '../../administration/administration.ts'
import { many } from '../../domain/text.ts'
import { isDay, MINUTE } from '../../domain/time.ts'
import { DAY } from '../../domain/usage.ts'
import { address, type Html, html, type Part } from '../../web/html.ts'
import type { AdminContext } from '../context.ts'
import { administrationOf } from '../wire/caller.ts'
import { ProblemError } from '../wire/problem.ts'
import { type Column, type Order, pager, sentence, table } from './components.ts'
import { exportLinks, type File, FORMATS, sendFile } from './exports.ts'
import { canChange, type FieldError, type FieldState, field, fieldsOf, formErrors, hidden, statesOf } from './forms.ts'
import { type Page, type Section, showPage } from './layout.ts'

export const PAGE_SIZE = 50

/** How many rows of a file are read in one turn. */
const AT_A_TIME = 200

/** The query of a list. `filter` has the names of the URL; empty text matches anything. */
interface Wanted {
  filter: Readonly<Record<string, string>>
  wrong?: readonly (FieldError & { message: string })[]
}

interface Found<Row> {
  rows: readonly Row[]
  /** Where the next page begins, unless `total` tells. */
  next?: string | number | undefined
  /** How many there are on all pages. Undefined if they are not counted. */
  total?: number | undefined
}

export interface List<Asked extends Wanted, Row> extends Pick<Page, 'title' | 'lead'> {
  path: Section
  /** The word for what a row shows, such as `suite`. */
  noun: string
  caption: string
  columns: readonly Column[]
  /** By which columns the rows can be sorted: the value of `sort` in the URL, and the order. */
  sorts?: Readonly<Record<string, readonly [sort: string, order: Order]>>
  cells: (row: Row, asked: Asked) => readonly Part[]
  /** The query parameter for where a page begins, and the labels of the links to the first and the next page. */
  pages: readonly [name: string, first: string, next: string]
  ask: (administration: Administration, request: FastifyRequest) => Promise<Asked>
  read: (
    administration: Administration,
    asked: Asked,
    page: { after?: string | undefined; limit: number; isFile?: true },
  ) => Promise<Found<Row>>
  /** Reads the rows of a file, unless `read` does. */
  readAll?: (administration: Administration, asked: Asked) => AsyncIterable<readonly Row[]>
  file: Pick<File, 'list' | 'schema'> & { view: (row: Row) => Readonly<Record<string, unknown>> }
  /** The form of the filter. `kept` has the values without an input. */
  form?: {
    button: string
    kept?: (filter: Asked['filter']) => Record<string, string>
    inputs: (asked: Asked, stateOf: (name: string) => FieldState, administration: Administration) => Promise<Part>
  }
  empty: (asked: Asked, why: Emptiness) => Html
  /** A link to the registration form, which is all that the page shows while the list is empty. */
  register?: Html
  /** What the page shows in addition, or instead. */
  page?: (parts: Parts<Asked, Row>, administration: Administration, request: FastifyRequest) => Promise<Partial<Page>>
}

/** Why a page has no rows. `isNew` means that there are none at all; `next` is the next page, which may have some. */
interface Emptiness {
  isNew: boolean
  canChange?: boolean
  next?: string | undefined
}

/** What a page of a list shows. `after` is undefined on the first page. */
interface Parts<Asked, Row> extends Found<Row> {
  asked: Asked
  after: string | undefined
  form: Part
  summary: Html
  listed: Html
  links: Part
}

/** Adds the routes of a list and of its files. Returns the function that shows it, with these errors. */
export function listPage<Asked extends Wanted, Row>(
  console: FastifyInstance,
  context: AdminContext,
  list: List<Asked, Row>,
) {
  const { path, title, lead, register } = list
  const [position, ...labels] = list.pages

  async function show(request: FastifyRequest, reply: FastifyReply, errors: readonly FieldError[] = []) {
    const administration = administrationOf(context, request)
    const asked = await list.ask(administration, request)
    const { filter, wrong = [] } = asked
    const given = fieldsOf(request.query).text(position)
    const after = position === 'after' ? given || undefined : numberIn(given)?.toString()
    const found = await list.read(administration, asked, { after, limit: PAGE_SIZE })
    const { rows, total, next = followingIn(after, total) } = found
    const following = next === undefined ? undefined : address(path, { ...filter, [position]: String(next) })
    // The suite to approve for, which is not a filter.
    const isFirst = after === undefined && !isAnySet({ ...filter, for: '' })
    const isBare = isFirst && rows.length === 0 && register !== undefined
    const parts = {
      ...found,
      asked,
      after,
      form: !isBare && (await formOf(list, asked, administration)),
      summary: html`${total !== undefined && `${many(total, list.noun)} · `}${exportLinks(path, filter)}`,
      listed: listed(list, asked, rows, { isNew: isFirst, canChange: canChange(request), next: following }),
      links: pager(after !== undefined && address(path, filter), following, labels),
    }
    const { content, ...page }: Page = {
      title,
      section: path,
      lead,
      actions: canChange(request) && !isBare && register,
      content: html`${parts.form}${rows.length > 0 && html`<p class="hint">${parts.summary}</p>`}${parts.listed}${parts.links}`,
      ...(!isBare && (await list.page?.(parts, administration, request))),
    }
    const status = errors.length + wrong.length > 0 ? 422 : 200
    return showPage(reply, { ...page, content: html`${formErrors(errors)}${content}` }, { status })
  }

  async function* pagesOf(request: FastifyRequest) {
    const administration = administrationOf(context, request)
    const asked = await list.ask(administration, request)
    const [wrong] = asked.wrong ?? []
    if (wrong) throw new ProblemError('invalid', wrong.message)
    for await (const rows of (list.readAll ?? readAll)(administration, asked)) yield rows.map(list.file.view)
  }

  async function* readAll(administration: Administration, asked: Asked) {
    let after: string | undefined
    do {
      const { rows, next } = await list.read(administration, asked, { after, limit: AT_A_TIME, isFile: true })
      yield rows
      after = next?.toString()
    } while (after !== undefined)
  }

  console.get(path, (request, reply) => show(request, reply))
  for (const format of FORMATS)
    console.get(`${path}.${format}`, (request, reply) =>
      sendFile(context, request, reply, { ...list.file, format, pages: pagesOf(request) }),
    )
  return show
}

function followingIn(after: string | undefined, total = 0): number | undefined {
  const next = (numberIn(after) ?? 0) + PAGE_SIZE
  return next < total ? next : undefined
}

export function listed<Asked extends Wanted, Row>(
  list: List<Asked, Row>,
  asked: Asked,
  rows: readonly Row[],
  why: Emptiness,
): Html {
  const all = rows.map((row) => list.cells(row, asked))
  return all.length > 0 ? table(list.caption, columnsOf(list, asked), all) : list.empty(asked, why)
}

/** A column by which the rows are sorted links to the list in its usual order. */
function columnsOf<Asked extends Wanted, Row>({ path, columns, sorts = {} }: List<Asked, Row>, { filter }: Asked) {
  return columns.map((column): Column => {
    const shown = typeof column === 'string' ? { label: column } : column
    const [sort, order] = sorts[shown.label] ?? []
    if (sort === undefined) return column
    const isSorted = filter.sort === sort
    return {
      ...shown,
      href: address(path, { ...filter, sort: isSorted ? '' : sort }),
      order: isSorted ? order : undefined,
    }
  })
}

async function formOf<Asked extends Wanted, Row>(
  { path, noun, form }: List<Asked, Row>,
  asked: Asked,
  administration: Administration,
): Promise<Html | undefined> {
  if (!form) return
  const kept = form.kept?.(asked.filter) ?? {}
  const isFiltered = Object.entries(asked.filter).some(([name, value]) => value !== '' && !(name in kept))
  return html`<form class="filters" method="get" action="${path}" role="search" aria-label="Filter the ${noun}s">${hidden(kept)}
${await form.inputs(asked, statesOf(asked.wrong ?? []), administration)}
<div class="buttons"><button class="button">${form.button}</button>${isFiltered && html`<a class="button" href="${address(path, kept)}">Clear</a>`}</div></form>`
}

export function isAnySet(filter: Wanted['filter']): boolean {
  return Object.values(filter).some((value) => value !== '')
}

/** The number of the row after which a page begins; undefined for the first page. */
export function numberIn(text = ''): number | undefined {
  return /^[1-9]\d{0,14}$/.test(text) ? Number(text) : undefined
}

type Period = Record<'since' | 'until', string>

/** The format of times in UTC; `until` includes the whole day or minute. */
const TIMES = {
  date: { rest: 'T00:00', span: DAY, advice: 'Write a day like this: 2027-01-31.' },
  'datetime-local': { rest: '', span: MINUTE, advice: 'Write a time like this: 2027-01-31T15:16.' },
}

/** The times in a filter, in milliseconds since the epoch, and what is wrong with them. */
export function periodIn(filter: Period, type: keyof typeof TIMES) {
  const { rest, span, advice } = TIMES[type]
  const timeOf = (name: keyof Period) => {
    const text = `${filter[name]}${rest}`
    return isDay(text.slice(0, 10)) && /^.{10}T\d\d:\d\d(:\d\d)?$/.test(text) ? Date.parse(`${text}Z`) : Number.NaN
  }
  const names = (['since', 'until'] as const).filter((name) => filter[name] !== '')
  const wrong = names.filter((name) => Number.isNaN(timeOf(name)))
  return {
    since: timeOf('since') || undefined,
    until: timeOf('until') + span || undefined,
    wrong: wrong.map((field) => ({ field, message: advice })),
  }
}

export function periodInputs(filter: Period, type: keyof typeof TIMES, stateOf: (name: string) => FieldState): Html[] {
  return (['since', 'until'] as const).map((name) =>
    field({ label: `${sentence(name)} (UTC)`, name, type, value: filter[name], ...stateOf(name) }),
  )
}
