import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Administration } from '../../administration/administration.ts'
import { many } from '../../domain/text.ts'
import { address, type Html, html, type Part } from '../../web/html.ts'
import type { AdminContext } from '../context.ts'
import { administrationOf } from '../wire/caller.ts'
import { ProblemError } from '../wire/problem.ts'
import { changedMessage } from './changed.ts'
import { type Column, emptyState, links, type Order, pager, table } from './components.ts'
import { exportLinks, type File, FORMATS, sendFile } from './exports.ts'
import {
  canChange,
  checkboxes,
  type FieldError,
  type FieldState,
  fieldsOf,
  formErrors,
  hidden,
  statesOf,
} from './forms.ts'
import { type Page, type Section, showPage } from './layout.ts'
import { cookieIn, shortCookie } from './login.ts'
import { KEPT_SECONDS } from './preferences.ts'

export const PAGE_SIZE = 50

/** How many rows of a file are read in one turn. */
const AT_A_TIME = 200

/**
 * Where a page begins, in the query: after so many rows; or before the row with the last of these keys, those of earlier pages come
 * first. With the labels of the links to the first page, the one before and the one after.
 */
const PAGES = { from: ['First', 'Previous', 'Next'], before: ['Newest', 'Newer', 'Older'] } as const

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
  /** How many each view has, by its value. Undefined if they are not counted. */
  counts?: Readonly<Record<string, number | undefined>> | undefined
}

type View = readonly [value: string, label: string, hint?: string]

interface Frame extends Pick<Page, 'title' | 'lead'> {
  path: Section
  /** The word for what a row shows, such as `suite`. */
  noun: string
  caption: string
  columns: readonly Column[]
  /** Which columns are shown besides the first one until the operator chooses others. Without it, all are. */
  shown?: readonly string[]
  /** By which columns the rows can be sorted: the value of `sort` in the URL, and the order. */
  sorts?: Readonly<Record<string, readonly [sort: string, order: Order]>>
  /** A filter whose values are links above the list; `counted`: those that have a count. */
  views?: readonly [name: string, all: readonly View[] | 'counted']
  pages: keyof typeof PAGES
}

export interface List<Asked extends Wanted, Row> extends Frame {
  cells: (row: Row, asked: Asked, open: Opener) => readonly Part[]
  /** What is known of the row with this id, which `open` of `cells` links to. Shown beside the list. */
  details?: (id: string, administration: Administration) => Promise<Details>
  ask: (administration: Administration, request: FastifyRequest, now: number) => Promise<Asked>
  read: (
    administration: Administration,
    asked: Asked,
    page: { after?: string | undefined; limit: number; isFile?: true },
  ) => Promise<Found<Row>>
  /** Reads the rows of a file, unless `read` does. */
  readAll?: (administration: Administration, asked: Asked) => AsyncIterable<readonly Row[]>
  file: Pick<File, 'list' | 'schema'> & { view: (row: Row) => Readonly<Record<string, unknown>> }
  /** The form of the filter. `kept`: the names without an input. */
  form?: {
    button: string
    kept?: readonly string[]
    inputs: (asked: Asked, stateOf: (name: string) => FieldState, administration: Administration) => Promise<Part>
  }
  empty: (asked: Asked, why: Emptiness) => Html
  /** A link to the registration form, which is all that the page shows while the list is empty. */
  register?: Html
  /** What the page shows in addition, or instead. */
  page?: (parts: Parts<Asked, Row>, administration: Administration) => Promise<Partial<Page>>
}

/** Makes a text a link that shows the row with this id beside the list. */
export type Opener = (id: string | number, text: Part) => Html

export interface Details {
  heading: Part
  content: Part
}

/** Why a page has no rows. `isNew` means that there are none at all; `next` is the next page, which may have some. */
interface Emptiness {
  isNew: boolean
  /** That there are rows, on pages before this one. */
  isPast?: boolean
  canChange?: boolean
  next?: string | undefined
}

/** What a page of a list shows. `after` is undefined on the first page. */
interface Parts<Asked, Row> extends Found<Row> {
  asked: Asked
  after: string | undefined
  /** The views and the form of the filter. */
  form: Part
  /** Which of how many rows there are, links to the files, and the choice of columns. */
  summary: Part
  listed: Html
  links: Part
}

/** Adds the routes of a list and of its files. Returns the function that shows it, with these errors. */
export function listPage<Asked extends Wanted, Row>(
  console: FastifyInstance,
  context: AdminContext,
  list: List<Asked, Row>,
) {
  const { path, title, lead, register, pages } = list

  async function show(request: FastifyRequest, reply: FastifyReply, errors: readonly FieldError[] = []) {
    const administration = administrationOf(context, request)
    const asked = await list.ask(administration, request, context.now())
    const { filter, wrong = [] } = asked
    const trail = fieldsOf(request.query).text(pages).split('.').filter(numberIn)
    const after = trail.at(-1)
    const found = await list.read(administration, asked, { after, limit: PAGE_SIZE })
    const hrefs = positionsBeside(trail, found).map((position) =>
      position === undefined ? undefined : address(path, { ...filter, [pages]: position }),
    )
    // The suite to approve for, which is not a filter.
    const isFirst = after === undefined && !isAnySet({ ...filter, for: '' })
    const isBare = isFirst && found.rows.length === 0 && register !== undefined
    const chosen = chosenColumns(list, request, reply)
    const why = { isNew: isFirst, isPast: Number(found.total) > 0, canChange: canChange(request), next: hrefs[2] }
    const here = { ...filter, [pages]: trail.join('.') }
    const parts = {
      ...found,
      asked,
      after,
      form: !isBare && html`${viewLinks(list, filter, found)}${await formOf(list, asked, administration)}`,
      summary:
        found.rows.length > 0 &&
        html`<div class="list-head"><p class="hint">${placeOf(list, trail, found)}${exportLinks(path, filter)}</p>${chosen && columnChoice(list, filter, chosen)}</div>`,
      listed: listed(list, asked, found.rows, why, chosen, here),
      links: pager(hrefs, PAGES[pages]),
    }
    const { content, ...page }: Page = {
      title,
      section: path,
      lead,
      actions: canChange(request) && !isBare && register,
      content: html`${parts.form}${parts.summary}${parts.listed}${parts.links}`,
      ...(!isBare && (await list.page?.(parts, administration))),
    }
    const whole = html`${formErrors(errors)}${await changedMessage(context, request)}${await beside(list, administration, request, { here, content })}`
    return showPage(reply, { ...page, content: whole }, { status: errors.length + wrong.length > 0 ? 422 : 200 })
  }

  async function* pagesOf(request: FastifyRequest) {
    const administration = administrationOf(context, request)
    const asked = await list.ask(administration, request, context.now())
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

/** Where the first, the previous and the next page begin. Undefined if there is none, or if the first is the previous one. */
function positionsBeside(trail: readonly string[], { total, next }: Found<unknown>): (string | undefined)[] {
  const from = numberIn(trail.at(-1)) ?? 0
  const [before, after] =
    total === undefined
      ? [trail.slice(0, -1).join('.'), next && [...trail, next].join('.')]
      : [from > PAGE_SIZE ? from - PAGE_SIZE : '', from + PAGE_SIZE < total ? from + PAGE_SIZE : undefined]
  const previous = from > 0 ? String(before) : undefined
  return [previous ? '' : undefined, previous, after?.toString()]
}

/** Which rows a page has or, if they are not counted and there are several pages, which page it is. */
function placeOf({ noun }: Frame, trail: readonly string[], { rows, total, next }: Found<unknown>): string {
  if (total === undefined) return next === undefined && trail.length === 0 ? '' : `Page ${trail.length + 1} · `
  if (total <= PAGE_SIZE) return `${many(total, noun)} · `
  const from = numberIn(trail.at(-1)) ?? 0
  const [first, last] = [from + 1, from + rows.length].map((row) => row.toLocaleString('en'))
  return `${first}–${last} of ${many(total, noun)} · `
}

function viewLinks({ path, views }: Frame, filter: Wanted['filter'], { counts, total }: Found<unknown>) {
  if (!views) return
  const [named, given] = views
  const { [named]: current = '' } = filter
  const hrefOf = (value: string) => address(path, { ...filter, [named]: value })
  // The counts may be older than the list.
  const counted = counts && Object.hasOwn(counts, current) ? counts[current] : undefined
  const known = counts && { ...counts, [current]: total ?? counted }
  const values = Object.keys(known ?? { [current]: total }).filter(Boolean)
  const all: readonly View[] = given === 'counted' ? ['', ...values].map((value) => [value, value || 'All']) : given
  const shown = all.map(([value, label]) => {
    const count = known?.[value]
    const text = html`${label}${count !== undefined && html` <span class="hint">${count.toLocaleString('en')}</span>`}`
    return [hrefOf(value), text] as const
  })
  const hint = all.find(([value]) => value === current)?.[2]
  return html`${links('tabs', 'Views', shown, hrefOf(current))}${hint && html`<p class="hint">${hint}</p>`}`
}

function chosenColumns({ columns, shown }: Frame, request: FastifyRequest, reply: FastifyReply): number[] | undefined {
  if (!shown) return
  const labels = columns.map(labelOf)
  const asked = fieldsOf(request.query).all('columns')
  const isAsked = asked.length > 0
  const marks = isAsked ? labels.map((label) => Number(asked.includes(label))).join('') : cookieIn(request, 'columns')
  if (isAsked && marks) reply.header('set-cookie', shortCookie(request, 'columns', marks, KEPT_SECONDS))
  const isShown = (label: string, n: number) => n === 0 || (marks ? marks[n] === '1' : shown.includes(label))
  return labels.flatMap((label, n) => (isShown(label, n) ? [n] : []))
}

function columnChoice({ path, columns }: Frame, filter: Wanted['filter'], chosen: readonly number[]): Html {
  const choices = columns.map((column, n) => {
    const label = labelOf(column)
    return { value: label, label, checked: chosen.includes(n) }
  })
  return html`<details><summary>Columns</summary><form method="get" action="${path}">${hidden({ ...setIn(filter), columns: '' })}${checkboxes({ label: 'Columns', name: 'columns' }, choices.slice(1))}<button class="button">Show</button></form></details>`
}

/** The rows. `chosen`: the numbers of the columns; `here`: the query of the page. */
export function listed<Asked extends Wanted, Row>(
  list: List<Asked, Row>,
  asked: Asked,
  rows: readonly Row[],
  why: Emptiness,
  chosen: readonly number[] = [...list.columns.keys()],
  here: Wanted['filter'] = asked.filter,
): Html {
  if (rows.length === 0) return why.isPast ? PAST : list.empty(asked, why)
  const columns = columnsOf(list, asked.filter)
  const open = openerOf(list.path, here)
  const shown = rows.map((row) => {
    const cells = list.cells(row, asked, open)
    return chosen.map((n) => cells[n])
  })
  return table(
    list.caption,
    chosen.map((n) => columns[n] as Column),
    shown,
  )
}

/** What was on a page may have gone. */
const PAST = emptyState('There is nothing on this page now', html`<p>The list ends on an earlier page.</p>`)

function labelOf(column: Column): string {
  return typeof column === 'string' ? column : column.label
}

/** Makes links to the details of the rows of the list at this path, which come back to their row. */
export function openerOf(path: string, here: Wanted['filter']): Opener {
  const known = new Set<string | number>()
  return (id, text) => {
    // Several requests of a caller may have one id: the first is the one to come back to.
    const isFirst = !known.has(id)
    known.add(id)
    const href = `${address(path, { ...here, open: String(id) })}#row-${encodeURIComponent(id)}`
    return html`<a${isFirst && html` id="row-${id}"`} href="${href}">${text}</a>`
  }
}

/** A page of a list with the details of the row that the address names at its side, if it names one. */
async function beside<Asked extends Wanted, Row>(
  { path, details }: List<Asked, Row>,
  administration: Administration,
  { query }: FastifyRequest,
  { here, content }: { here: Wanted['filter']; content: Part },
): Promise<Part> {
  const open = fieldsOf(query).text('open')
  const found = open === '' ? undefined : await details?.(open, administration)
  if (!found) return content
  const closed = `${address(path, here)}#row-${encodeURIComponent(open)}`
  return html`<div class="beside"><section class="side parts" aria-labelledby="opened"><div class="panel-head"><h2 id="opened" tabindex="-1" autofocus>${found.heading}</h2><div class="actions"><a class="button" href="${closed}" data-close>Close</a></div></div>${found.content}</section><div class="parts">${content}</div></div>`
}

/** A column by which the rows are sorted links to the list in its usual order. */
function columnsOf({ path, columns, sorts = {} }: Frame, filter: Wanted['filter']): Column[] {
  return columns.map((column) => {
    const [sort, order] = sorts[labelOf(column)] ?? []
    if (sort === undefined) return column
    const isSorted = filter.sort === sort
    return {
      ...(typeof column === 'string' ? { label: column } : column),
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
  const given = Object.entries(setIn(asked.filter))
  const kept = Object.fromEntries(given.filter(([name]) => form.kept?.includes(name)))
  const isFiltered = given.length > Object.keys(kept).length
  return html`<form class="filters" method="get" action="${path}" role="search" aria-label="Filter the ${noun}s">${hidden(kept)}
${await form.inputs(asked, statesOf(asked.wrong ?? []), administration)}
<div class="buttons"><button class="button">${form.button}</button>${isFiltered && html`<a class="button" href="${address(path, kept)}">Clear</a>`}</div></form>`
}

function setIn(filter: Wanted['filter']): Record<string, string> {
  return Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== ''))
}

export function isAnySet(filter: Wanted['filter']): boolean {
  return Object.keys(setIn(filter)).length > 0
}

/** The number of the row after which a page begins; undefined for the first page. */
export function numberIn(text = ''): number | undefined {
  return /^[1-9]\d{0,14}$/.test(text) ? Number(text) : undefined
}
