import type { FastifyInstance } from 'fastify'
import type { AuditEvent } from '../../domain/audit-event.ts'
import { isDay } from '../../domain/day.ts'
import type { AdminContext } from '../context.ts'
import { field } from './components/forms.ts'
import { pager, table } from './components/table.ts'
import { emptyState, time } from './components/words.ts'
import { difference } from './difference.ts'
import { fieldsOf } from './fields.ts'
import { type Html, html, path } from './html.ts'
import type { Page } from './layout.ts'
import { showPage } from './page.ts'

/** Events on one page. */
const PAGE_SIZE = 50

/** What the list is narrowed to, as it was written. */
interface Filter {
  since: string
  actor: string
  subject: string
}

/** Who has changed what, the newest first. */
export function auditPage(console: FastifyInstance, { store }: AdminContext): void {
  console.get('/audit', async (request, reply) => {
    const query = fieldsOf(request.query)
    const filter = { since: query.text('since'), actor: query.text('actor'), subject: query.text('subject') }
    const since = isDay(filter.since) ? Date.parse(filter.since) : undefined
    const error = filter.since !== '' && since === undefined ? 'Write a day like this: 2027-01-31.' : undefined
    const before = /^\d{1,15}$/.test(query.text('before')) ? Number(query.text('before')) : undefined
    const events = await store.listAuditEvents({
      since,
      before,
      actor: filter.actor || undefined,
      subject: filter.subject || undefined,
      limit: PAGE_SIZE + 1,
    })
    return showPage(reply, page({ events, filter, error, isFirst: before === undefined }), {
      status: error ? 422 : 200,
    })
  })
}

interface Shown {
  events: readonly AuditEvent[]
  filter: Filter
  /** What is wrong with the day. */
  error: string | undefined
  isFirst: boolean
}

function page({ events, filter, error, isFirst }: Shown): Page {
  const shown = events.slice(0, PAGE_SIZE)
  const isFiltered = Object.values(filter).some((value) => value !== '')
  return {
    title: 'Audit',
    section: '/audit',
    lead: 'Every change to applications, suites and operators: who made it, when, and from where. Kept for 400 days.',
    content: html`${filterForm(filter, error, isFiltered)}
${shown.length > 0 ? eventTable(shown) : nothing(isFiltered)}
${pager({
  newest: isFirst ? undefined : auditPath(filter),
  older: events.length > PAGE_SIZE ? auditPath(filter, shown.at(-1)) : undefined,
})}`,
  }
}

function filterForm({ since, actor, subject }: Filter, error: string | undefined, isFiltered: boolean): Html {
  return html`<form class="filters" method="get" action="/audit" role="search" aria-label="Filter the changes">${[
    field({ label: 'Since (UTC)', name: 'since', type: 'date', value: since, error }),
    field({ label: 'Who', name: 'actor', value: actor, placeholder: 'Operator' }),
    field({ label: 'To what', name: 'subject', value: subject, placeholder: 'Client id, suite or operator' }),
  ]}<div class="buttons"><button class="button">Filter</button>${isFiltered && html`<a class="button" href="/audit">Clear</a>`}</div></form>`
}

function nothing(isFiltered: boolean): Html {
  if (isFiltered)
    return emptyState('No changes match', html`<p>Try an earlier day, or <a href="/audit">show all changes</a>.</p>`)
  return emptyState(
    'No changes yet',
    html`<p>Whatever operators change is listed here, whether they do it in the console, through the API or on the command line. <a href="/new-application">Register an application</a> to begin.</p>`,
  )
}

const COLUMNS = [
  { label: 'When' },
  { label: 'What', kind: 'line' },
  { label: 'To what' },
  { label: 'Who' },
  { label: 'Change' },
] as const

/** Changes, each with what was different then. `isOfOne`: all of the same subject. */
export function eventTable(events: readonly AuditEvent[], { isOfOne = false } = {}): Html {
  const cells = <Cell>(row: readonly Cell[]) => (isOfOne ? row.toSpliced(2, 1) : row)
  return table('Changes, newest first', cells(COLUMNS), events.map(eventCells).map(cells))
}

/** An event as the cells of a row. */
function eventCells(event: AuditEvent) {
  const { at, actor, action, subject, before, after } = event
  return [
    time(at),
    sentence(action),
    subjectLink(subject),
    html`<a href="${path`/audit?actor=${actor}`}"><bdi>${actor}</bdi></a> ${fromWhere(event)}`,
    difference(before, after),
  ]
}

function fromWhere({ origin, remoteAddress, requestId }: AuditEvent): Html {
  return html`<div class="hint">${origin}, ${remoteAddress}${requestId !== undefined && html`, <span class="cut" title="Request id ${requestId}">${requestId}</span>`}</div>`
}

function sentence(action: string): string {
  return action.charAt(0).toUpperCase() + action.slice(1)
}

/** Leads to what was changed; it may not be there any more. */
function subjectLink({ kind, id }: AuditEvent['subject']): Html {
  const label = html`<bdi class="cut" title="${id}">${id}</bdi>`
  if (kind === 'application') return html`<a href="${path`/applications/${id}`}">${label}</a>`
  if (kind === 'suite') return html`<a href="${path`/suites/${id}`}">${label}</a>`
  if (kind === 'operator') return html`<a href="${path`/operators#operator-${id}`}">${label}</a>`
  return html`${label}`
}

/** The list, narrowed like this; `after`: the last event of the page before. */
function auditPath(filter: Filter, after?: AuditEvent): string {
  const given = Object.entries(filter).filter(([, value]) => value !== '')
  const query = new URLSearchParams([...given, ...(after ? [['before', String(after.id)]] : [])] as [string, string][])
  return query.size > 0 ? `/audit?${query}` : '/audit'
}
