import type { FastifyInstance } from 'fastify'
import { NAMES_AT_A_TIME, stepsOf } from '../../administration/pages.ts'
import { contains } from '../../administration/search.ts'
import type { AuditEvent, AuditFilter, PublicFields } from '../../domain/audit-event.ts'
import { isFromProvider, readableName } from '../../domain/operator.ts'
import { isDay } from '../../domain/time.ts'
import type { AdminContext } from '../context.ts'
import { emptyState, name, pager, section, sentence, table, time, words } from './components.ts'
import { canChange, field, fieldsOf } from './forms.ts'
import { address, type Html, html, type Part, path } from './html.ts'
import { type Page, showPage } from './layout.ts'

const PAGE_SIZE = 50

/** How many steps of changes are searched for a part of a name. */
const MAX_STEPS = 50

type Filter = Record<'since' | 'actor' | 'subject', string>

/** /audit: all changes, newest first. */
export function auditPage(console: FastifyInstance, { store }: AdminContext): void {
  console.get('/audit', async (request, reply) => {
    const query = fieldsOf(request.query)
    const filter = { since: query.text('since'), actor: query.text('actor'), subject: query.text('subject') }
    const since = isDay(filter.since) ? Date.parse(filter.since) : undefined
    const error = filter.since !== '' && since === undefined ? 'Write a day like this: 2027-01-31.' : undefined
    const before = /^\d{1,15}$/.test(query.text('before')) ? Number(query.text('before')) : undefined
    const events = await findEvents(store, { ...filter, since, before })
    const names = await namesOf(store, events)
    const shown = events.slice(0, PAGE_SIZE)
    const isFiltered = Object.values(filter).some((value) => value !== '')
    const page: Page = {
      title: 'Audit',
      section: '/audit',
      lead: 'Every change to applications, suites and operators: who made it, when, and from where. Kept for 400 days.',
      content: html`${filterForm(filter, error, isFiltered)}
${shown.length > 0 ? eventTable(shown, { names }) : noChanges(isFiltered, canChange(request))}
${pager(
  before !== undefined && address('/audit', filter),
  events.length > PAGE_SIZE ? address('/audit', { ...filter, before: String(shown.at(-1)?.id) }) : undefined,
)}`,
    }
    return showPage(reply, page, { status: error ? 422 : 200 })
  })
}

type Search = Pick<AuditFilter, 'since' | 'before'> & Pick<Filter, 'actor' | 'subject'>

/** The events of the actors and subjects with this id or, if there are none, with this text in their ids or names. */
async function findEvents(store: AdminContext['store'], { actor, subject, ...range }: Search): Promise<AuditEvent[]> {
  const exact = { actor: actor || undefined, subject: subject || undefined }
  const [isExact] = await store.listAuditEvents({ ...exact, limit: 1 })
  if (isExact) return store.listAuditEvents({ ...range, ...exact, limit: PAGE_SIZE + 1 })
  const found: AuditEvent[] = []
  let steps = 0
  const list = (last?: AuditEvent) =>
    store.listAuditEvents({ ...range, before: last?.id ?? range.before, limit: NAMES_AT_A_TIME })
  for await (const events of stepsOf(list, NAMES_AT_A_TIME)) {
    const names = await namesOf(store, events)
    const isWanted = (event: AuditEvent) =>
      [event.actor, names.get(`operator ${event.actor}`) ?? ''].some((text) => contains(text, actor)) &&
      [event.subject.id, names.get(keyOf(event.subject)) ?? ''].some((text) => contains(text, subject))
    found.push(...events.filter(isWanted))
    if (found.length > PAGE_SIZE || ++steps === MAX_STEPS) break
  }
  return found.slice(0, PAGE_SIZE + 1)
}

/** The current names of the subjects, and of actors from the identity provider; else the names at the time of the change. */
async function namesOf(store: AdminContext['store'], events: readonly AuditEvent[]): Promise<Names> {
  const names = new Map<string, string>()
  for (const { subject, before, after, actor } of events) {
    const author = { kind: 'operator', id: actor } as const
    for (const one of isFromProvider({ name: actor }) ? [subject, author] : [subject]) {
      const key = keyOf(one)
      if (names.has(key)) continue
      const named = (await find(store, one))?.name ?? (one === subject && (after?.name ?? before?.name))
      if (typeof named === 'string') names.set(key, named)
    }
  }
  return names
}

async function find(store: AdminContext['store'], { kind, id }: AuditEvent['subject']) {
  if (kind === 'application') return await store.findApplication(id)
  if (kind === 'suite') return await store.findSuite(id)
  const operator = isFromProvider({ name: id }) ? await store.findOperator(id) : undefined
  return operator && { name: readableName(operator) }
}

type Names = ReadonlyMap<string, string>

/** The key of a subject. Includes the kind, because the name of an operator may equal a client id. */
function keyOf({ kind, id }: AuditEvent['subject']): string {
  return `${kind} ${id}`
}

function filterForm({ since, actor, subject }: Filter, error: string | undefined, isFiltered: boolean): Html {
  return html`<form class="filters" method="get" action="/audit" role="search" aria-label="Filter the changes">${[
    field({ label: 'Since (00:00 UTC)', name: 'since', type: 'date', value: since, error }),
    field({ label: 'Who', name: 'actor', value: actor, placeholder: 'Operator, or a part of the name' }),
    field({ label: 'Target', name: 'subject', value: subject, placeholder: 'Id or name, or a part of it' }),
  ]}<div class="buttons"><button class="button">Filter</button>${isFiltered && html`<a class="button" href="/audit">Clear</a>`}</div></form>`
}

function noChanges(isFiltered: boolean, canChange: boolean): Html {
  if (isFiltered)
    return emptyState(
      'No changes match',
      html`<p>Parts of names are searched for in the newest 5,000 changes. Try an earlier day, or <a href="/audit">show all changes</a>.</p>`,
    )
  return emptyState(
    'No changes yet',
    html`<p>Every change that operators make is listed here, whether they make it in the console, through the API or on the command line.${canChange && html` <a href="/new-application">Register an application</a> to begin.`}</p>`,
  )
}

/** How many changes the page of an application or a suite shows. */
const LAST_CHANGES = 10

/** The last changes of an application or a suite. */
export async function lastChanges(store: AdminContext['store'], { kind, id }: AuditEvent['subject']): Promise<Html> {
  const events = await store.listAuditEvents({ subject: id, kind, limit: LAST_CHANGES })
  const content =
    events.length === 0
      ? html`<p class="quiet-text">No changes in the last 400 days.</p>`
      : eventTable(events, { isOfOne: true, names: await namesOf(store, events) })
  const all = html`<a href="${address('/audit', { subject: id })}">All changes</a>`
  return section('changes', 'Last changes', content, all)
}

const COLUMNS = ['When', { label: 'Action', kind: 'line' }, 'Target', 'Who', 'Change'] as const

/** A table of changes. `isOfOne`: they all have the same subject, so its column is left out. */
function eventTable(
  events: readonly AuditEvent[],
  { isOfOne = false, names = new Map() }: { isOfOne?: boolean; names?: Names } = {},
): Html {
  const cells = <Cell>(row: readonly Cell[]) => (isOfOne ? row.toSpliced(2, 1) : row)
  return table(
    'Changes, newest first',
    cells(COLUMNS),
    events.map((event) => cells(eventCells(event, names))),
  )
}

function eventCells(event: AuditEvent, names: Names) {
  const { at, actor, action, subject, before, after } = event
  return [
    time(at),
    sentence(action),
    subjectLink(subject, names.get(keyOf(subject))),
    html`<a href="${path`/audit?actor=${actor}`}"><bdi>${names.get(`operator ${actor}`) ?? actor}</bdi></a> ${sourceOf(event)}`,
    difference(before, after),
  ]
}

function sourceOf({ origin, remoteAddress, requestId }: AuditEvent): Html {
  return html`<div class="hint">${origin}, ${remoteAddress}${requestId !== undefined && html`, request <span class="cut" title="Request id ${requestId}">${requestId}</span>`}</div>`
}

/** Links to the subject, which may have been removed. */
function subjectLink(subject: AuditEvent['subject'], named: string | undefined): Html {
  const id = html`<bdi class="cut" title="${subject.id}">${subject.id}</bdi>`
  const address = addressOf(subject)
  if (address === undefined) return id
  // Operators and databases have no name but their id.
  if (named === undefined || named === subject.id) return html`<a href="${address}">${id}</a>`
  return html`<a href="${address}">${name(named)}</a><div class="hint">${id}</div>`
}

function addressOf({ kind, id }: AuditEvent['subject']): string | undefined {
  if (kind === 'application') return path`/applications/${id}`
  if (kind === 'suite') return path`/suites/${id}`
  if (kind === 'operator') return path`/operators#operator-${id}`
}

/** A time (RFC 3339), in the format of the views. */
const MOMENT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

/** Fields of a new or removed subject that other cells of the row already show. */
const REDUNDANT_FIELDS = ['client_id', 'id', 'created_at']

/** The removed and added values of one field. */
interface FieldChange {
  field: string
  removed: readonly unknown[]
  added: readonly unknown[]
}

/** The difference, field by field. `before` is null for a new subject, `after` for a removed one: all their fields are behind a line. */
export function difference(before: PublicFields | null, after: PublicFields | null): Html {
  const fields = fieldByField(before, after)
  if (before && after) return fields
  return html`<details class="whole"><summary>All fields</summary>${fields}</details>`
}

function fieldByField(before: PublicFields | null, after: PublicFields | null): Html {
  const all = [...new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])]
  const fields = before && after ? all : all.filter((field) => !REDUNDANT_FIELDS.includes(field))
  const changes = fields.flatMap((field) => changesOf(field, before?.[field], after?.[field]))
  if (changes.length === 0) return html`<span class="quiet-text">–</span>`
  return html`<ul class="difference">${changes.map(
    ({ field, removed, added }) =>
      html`<li>${words(field)}: ${[
        ...removed.map((value) => html`<del>${shown(value)}</del> `),
        removed.length > 0 && added.length > 0 && '→ ',
        ...added.map((value) => html`<ins>${shown(value)}</ins> `),
      ]}</li>`,
  )}</ul>`
}

function changesOf(field: string, before: unknown, after: unknown): FieldChange[] {
  if (Array.isArray(before ?? after) && Array.isArray(after ?? before)) {
    return changesOfLists(field, (before ?? []) as unknown[], (after ?? []) as unknown[])
  }
  if (JSON.stringify(before ?? null) === JSON.stringify(after ?? null)) return []
  return [{ field, removed: listOf(before), added: listOf(after) }]
}

/** Items that are in only one of the lists. Items with the same id are compared field by field. */
function changesOfLists(field: string, before: readonly unknown[], after: readonly unknown[]): FieldChange[] {
  const idsAfter = new Map(after.flatMap((item) => (isItem(item) ? [[item.id, item] as const] : [])))
  const pairs = before.flatMap((item) => {
    const other = isItem(item) ? idsAfter.get(item.id) : undefined
    return isItem(item) && other ? [[item, other] as const] : []
  })
  const paired = new Set<unknown>(pairs.flat())
  const [textsBefore, textsAfter] = [before, after].map((list) => new Set(list.map((item) => JSON.stringify(item))))
  const removed = before.filter((item) => !paired.has(item) && !textsAfter?.has(JSON.stringify(item)))
  const added = after.filter((item) => !paired.has(item) && !textsBefore?.has(JSON.stringify(item)))
  return [
    ...(removed.length + added.length > 0
      ? [{ field: removed.length + added.length === 1 ? singular(field) : field, removed, added }]
      : []),
    ...pairs.flatMap(([old, now]) =>
      Object.keys(now).flatMap((key) => changesOf(`${singular(field)} ${now.id} ${key}`, old[key], now[key])),
    ),
  ]
}

function isItem(value: unknown): value is Record<string, unknown> & { id: string | number } {
  return typeof value === 'object' && value !== null && 'id' in value
}

function listOf(value: unknown): unknown[] {
  return value === undefined || value === null ? [] : [value]
}

function shown(value: unknown): Part {
  if (value === null) return 'none'
  if (typeof value === 'string') return MOMENT.test(value) ? time(Date.parse(value)) : html`<bdi>${value}</bdi>`
  if (isItem(value)) return `${value.id}`
  if (typeof value !== 'object' || Array.isArray(value)) return JSON.stringify(value)
  const parts = Object.entries(value).filter(([key]) => !REDUNDANT_FIELDS.includes(key))
  return parts.map(([key, part], n) => html`${n > 0 && ', '}${words(key)} ${shown(part)}`)
}

function singular(field: string): string {
  return words(field).replace(/s$/, '')
}
