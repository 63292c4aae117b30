import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Administration } from '../../administration/administration.ts'
import { EXPORT_STEPS, keyOfSubject } from '../../administration/audit-trail.ts'
import { AUDIT_EVENT, auditEventView } from '../../administration/views.ts'
import { type Labels, labelTexts } from '../../domain/application.ts'
import type { AuditEvent, PublicFields } from '../../domain/audit-event.ts'
import { AUDIT_ACTIONS } from '../../domain/events.ts'
import { readableName } from '../../domain/operator.ts'
import { many } from '../../domain/text.ts'
import { text } from '../../views/schema.ts'
import { address, type Html, html, type Part, path } from '../../web/html.ts'
import type { AdminContext } from '../context.ts'
import { emptyState, facts, name, section, sentence, table, time, words } from './components.ts'
import { field, select, textsIn } from './forms.ts'
import { type Details, listPage, numberIn, type Opener, openerOf } from './list.ts'
import { RANGE_NAMES, rangeControl, rangeIn } from './range.ts'

const FILTERS = [...RANGE_NAMES, 'action', 'actor', 'subject', 'request_id'] as const

type Asked = Awaited<ReturnType<typeof askedFor>>

export function auditPage(console: FastifyInstance, context: AdminContext): void {
  listPage(console, context, {
    path: '/audit',
    noun: 'change',
    title: 'Audit',
    lead: 'Every change to applications, suites and operators: who made it, when, and from where. Kept for 400 days.',
    caption: CAPTION,
    columns: COLUMNS,
    cells: eventCells,
    details: eventDetails,
    pages: 'before',
    ask: ({ searchAuditEvents }, request, now) => askedFor(searchAuditEvents, request, now),
    async read(administration, { query }, { after, limit, isFile }) {
      const page = { ...query, before: numberIn(after), grouped: !isFile, limit }
      const { events, next } = await administration.searchAuditEvents(page, isFile && EXPORT_STEPS)
      return { rows: await withNames(administration, events), next }
    },
    form: { button: 'Filter', inputs: async (asked) => inputs(asked) },
    empty(_, { isNew, canChange, next }) {
      // Only some of the changes were compared.
      if (next !== undefined)
        return emptyState(
          'No changes match so far',
          html`<p>5,000 changes were compared. <a href="${next}">Look through older ones</a>, or choose other days.</p>`,
        )
      if (!isNew) return emptyState('No changes match', html`<p><a href="/audit">Show all changes</a></p>`)
      return emptyState(
        'No changes yet',
        html`<p>Every change that operators make is listed here, whether they make it in the console, through the API or on the command line.${canChange && html` <a href="/new-application">Register an application</a> to begin.`}</p>`,
      )
    },
    file: {
      list: 'audit_events',
      schema: AUDIT_EVENT.extend({ subject_name: text('The name of what was changed; empty if it has none') }),
      view: (event) => ({ ...auditEventView(event), subject_name: event.subjectName ?? '' }),
    },
  })
}

/**
 * The query of a page or a file. Finds the events of the actor with this name and the subject with this id or, if there are none,
 * of those that contain these texts.
 */
async function askedFor(search: Administration['searchAuditEvents'], { query }: FastifyRequest, now: number) {
  const filter = textsIn(FILTERS, query)
  const requestId = filter.request_id || undefined
  const exact = { requestId, actor: filter.actor || undefined, subject: filter.subject || undefined }
  const [known] = (await search({ ...exact, limit: 1 })).events
  const range = rangeIn(filter, now)
  const { since, until, wrong } = range
  const named = known ? exact : { requestId, actorPart: filter.actor, search: filter.subject }
  return { filter, range, wrong, query: { since, until, ...named, action: filter.action || undefined } }
}

const ACTIONS = [{ value: '', label: 'Any' }, ...AUDIT_ACTIONS.map((value) => ({ value, label: sentence(value) }))]

function inputs({ filter, range }: Asked): Html[] {
  const { action, actor, subject, request_id } = filter
  return [
    rangeControl('/audit', range, { filter }),
    select({ label: 'Action', name: 'action', value: action }, ACTIONS),
    field({ label: 'Who', name: 'actor', value: actor, placeholder: 'Name or part' }),
    field({ label: 'Target', name: 'subject', value: subject, placeholder: 'Name, id or part' }),
    field({ label: 'Request id', name: 'request_id', value: request_id, isCode: true }),
  ]
}

const LAST_CHANGES = 10

export async function lastChanges(administration: Administration, { kind, id }: AuditEvent['subject']): Promise<Html> {
  const { events } = await administration.searchAuditEvents({ subject: id, kind, limit: LAST_CHANGES })
  const opener = openerOf('/audit', { subject: id })
  const rows = (await withNames(administration, events)).map((event) =>
    withoutTarget(eventCells(event, undefined, opener)),
  )
  const content =
    rows.length === 0
      ? html`<p class="quiet-text">No changes in the last 400 days.</p>`
      : table(CAPTION, withoutTarget(COLUMNS), rows)
  const all = html`<a href="${address('/audit', { subject: id })}">All changes</a>`
  return section('changes', 'Last changes', content, all)
}

const CAPTION = 'Changes, newest first'

const COLUMNS = ['When', { label: 'Action', kind: 'line' }, 'Target', 'Who', 'Change'] as const

const withoutTarget = <Cell>(row: readonly Cell[]) => row.toSpliced(2, 1)

type NamedEvent = AuditEvent & { subjectName: string | undefined }

async function withNames({ namesOfSubjects }: Administration, events: readonly AuditEvent[]): Promise<NamedEvent[]> {
  const names = await namesOfSubjects(events)
  return events.map((event) => ({ ...event, subjectName: names.get(keyOfSubject(event.subject)) }))
}

async function eventDetails(id: string, administration: Administration): Promise<Details> {
  const before = Number(numberIn(id) ?? 0) + 1
  const query = [true, false].map((grouped) => administration.searchAuditEvents({ before, grouped, limit: 1 }))
  const found = (await Promise.all(query)).flatMap(({ events }) => events).filter((event) => String(event.id) === id)
  const [event] = await withNames(administration, found)
  if (!event) return { heading: 'No such change', content: html`<p>Changes are kept for 400 days.</p>` }
  const [, action, target, who] = eventCells(event, undefined, (_, text) => html`${text}`)
  const rows = [
    ['When', time(event.at, '', true)],
    ['Target', target],
    ['Who', who],
  ] as const
  const change = difference(event.before, event.after)
  return { heading: action, content: html`<div class="panel">${facts(rows)}${change}</div>` }
}

function eventCells(event: NamedEvent, _: unknown, open: Opener): Part[] {
  const { id, at, actor, actorEmail, action, subject, subjectName: named, before, after, count, requestId } = event
  const isOperator = subject.kind === 'operator'
  const shown = isOperator ? readableName({ name: subject.id, email: named ?? null }) : named
  return [
    open(id, time(at)),
    sentence(action),
    count > 1
      ? html`<a href="${address('/audit', { action, request_id: String(requestId) })}">${many(count, subject.kind)}</a>`
      : linkTo(addressOf(subject), subject.id, shown, !isOperator),
    // The recipient of a link is not known.
    html`${event.origin === 'hand-over link' && 'link made by '}${linkTo(path`/audit?actor=${actor}`, actor, readableName({ name: actor, email: actorEmail }))}${sourceOf(event)}`,
    before && after ? difference(before, after) : '–',
  ]
}

function sourceOf({ origin, remoteAddress, requestId }: AuditEvent): Html {
  return html`<div class="hint">${origin}, ${remoteAddress}${requestId !== undefined && html`, request <span class="cut" title="Request id ${requestId}">${requestId}</span>`}</div>`
}

/** A name with its id, or the id alone. */
function linkTo(address: string | undefined, id: string, named: string | undefined, isCode = false): Html {
  const shortened = html`<bdi class="cut${isCode && ' code'}" title="${id}">${id}</bdi>`
  if (address === undefined) return shortened
  if (named === undefined || named === id) return html`<a href="${address}">${shortened}</a>`
  return html`<a href="${address}">${name(named)}</a><div class="hint">${shortened}</div>`
}

function addressOf({ kind, id }: AuditEvent['subject']): string | undefined {
  if (kind === 'application') return path`/applications/${id}`
  if (kind === 'suite') return path`/suites/${id}`
  if (kind === 'operator') return path`/operators#operator-${id}`
  if (kind === 'warning') return '/'
}

/** A time (RFC 3339), in the format of the views. */
const MOMENT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

/** Fields of a new or removed subject that other cells of the row already show. */
const REDUNDANT_FIELDS = ['client_id', 'id', 'created_at']

interface FieldChange {
  field: string
  removed: readonly unknown[]
  added: readonly unknown[]
}

/** The difference, field by field. `before` is null for a new subject, `after` for a removed one. */
export function difference(before: PublicFields | null, after: PublicFields | null): Html {
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
  if (field === 'labels') return changesOfLists(field, textsOf(before), textsOf(after))
  if (Array.isArray(before ?? after) && Array.isArray(after ?? before)) {
    return changesOfLists(field, (before ?? []) as unknown[], (after ?? []) as unknown[])
  }
  const [removed, added] = [listOf(before), listOf(after)]
  return JSON.stringify(removed) === JSON.stringify(added) ? [] : [{ field, removed, added }]
}

const textsOf = (labels: unknown) => labelTexts((labels ?? {}) as Labels)

/** Items that are in only one of the lists. Items with the same id are compared field by field. */
function changesOfLists(field: string, before: readonly unknown[], after: readonly unknown[]): FieldChange[] {
  const keyOf = (item: unknown) => JSON.stringify(isItem(item) ? item.id : item)
  const earlier = new Map(before.map((item) => [keyOf(item), item]))
  const keysAfter = new Set(after.map(keyOf))
  const removed = before.filter((item) => !keysAfter.has(keyOf(item)))
  const added = after.filter((item) => !earlier.has(keyOf(item)))
  const count = removed.length + added.length
  const kept = after.flatMap((now) => {
    const old = earlier.get(keyOf(now))
    if (!isItem(now) || !isItem(old)) return []
    return Object.keys(now).flatMap((key) => changesOf(`${singular(field)} ${now.id} ${key}`, old[key], now[key]))
  })
  return [...(count > 0 ? [{ field: count === 1 ? singular(field) : field, removed, added }] : []), ...kept]
}

function isItem(value: unknown): value is Record<string, unknown> & { id: string | number } {
  return typeof value === 'object' && value !== null && 'id' in value
}

function listOf(value: unknown): unknown[] {
  return value === undefined || value === null || value === '' ? [] : [value]
}

function shown(value: unknown): Part {
  if (value === null) return 'none'
  if (typeof value === 'string') {
    // A name may look like a time without being one.
    const isTime = MOMENT.test(value) && !Number.isNaN(Date.parse(value))
    return isTime ? time(Date.parse(value)) : html`<bdi>${value}</bdi>`
  }
  if (isItem(value)) return `${value.id}`
  if (typeof value !== 'object' || Array.isArray(value)) return JSON.stringify(value)
  const parts = Object.entries(value).filter(([key]) => !REDUNDANT_FIELDS.includes(key))
  return parts.map(([key, part], n) => html`${n > 0 && ', '}${words(key)} ${shown(part)}`)
}

function singular(field: string): string {
  return words(field).replace(/s$/, '')
}
