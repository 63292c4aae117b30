import { cursorOf } from '../../administration/pages.ts'
import { AUDIT_EVENT, auditEventView } from '../../administration/views.ts'
import { AUDIT_ACTIONS } from '../../domain/events.ts'
import { REFUSAL_FILTERS } from '../../domain/refusal.ts'
import { camelCased } from '../../domain/text.ts'
import { REFUSED_REQUEST } from '../../views/refused-request.ts'
import { list, view } from '../../views/schema.ts'
import { choiceOf, olderThan, query, timesOf } from './query.ts'
import { type AddRoute, answer, pageOf } from './routes.ts'

const FILTERS = ['request_id', ...REFUSAL_FILTERS] as const

const LIST_EVENTS = {
  querystring: query('since', 'until', 'action', 'actor', 'subject', 'request_id', 'search', 'limit', 'before'),
  ...answer(pageOf('AuditPage', 'audit_events', list('Newest first', AUDIT_EVENT))),
}

const LIST_REFUSALS = {
  querystring: query(...FILTERS, 'since', 'until', 'search', 'limit', 'before'),
  ...answer(pageOf('RefusalPage', 'refusals', list('Newest first', REFUSED_REQUEST))),
}

export function auditEvents(route: AddRoute): void {
  route('GET', '/audit-events', LIST_EVENTS, async ({ searchAuditEvents }, { query }) => {
    const { actor, subject, request_id: requestId, search } = query
    const times = timesOf(query)
    const action = choiceOf('action', AUDIT_ACTIONS, query)
    const asked = { ...times, action, actor, subject, requestId, search, ...olderThan(query) }
    const { events, next } = await searchAuditEvents(asked)
    return { audit_events: events.map(auditEventView), next: cursorTo(next) }
  })
}

export function refusals(route: AddRoute): void {
  route('GET', '/refusals', LIST_REFUSALS, async ({ searchRefusedRequests }, { query }) => {
    const filter = camelCased<Record<string, string>>(Object.fromEntries(FILTERS.map((name) => [name, query[name]])))
    const asked = { ...filter, search: query.search, ...timesOf(query), ...olderThan(query) }
    const { requests, next } = await searchRefusedRequests(asked)
    return { refusals: requests.map((one) => view(REFUSED_REQUEST, one)), next: cursorTo(next) }
  })
}

function cursorTo(next: number | undefined): string | null {
  return next === undefined ? null : cursorOf(next)
}
