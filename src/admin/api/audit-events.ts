import { cursorOf, keyOf } from '../../administration/pages.ts'
import { AUDIT_EVENT, auditEventView } from '../../administration/views.ts'
import { AUDIT_ACTIONS } from '../../domain/events.ts'
import { list } from '../../views/schema.ts'
import { choiceOf, cursorIn, limitOf, timeOf } from './query.ts'
import type { AddRoute } from './routes.ts'
import { answer, pageOf, query } from './schemas.ts'

const LIST = {
  querystring: query('since', 'until', 'action', 'actor', 'subject', 'request_id', 'search', 'limit', 'before'),
  ...answer(pageOf('AuditPage', 'audit_events', list('Newest first', AUDIT_EVENT))),
}

/** /audit-events, newest first. */
export function auditEvents(route: AddRoute): void {
  route('GET', '/audit-events', LIST, async ({ searchAuditEvents }, { query }) => {
    const { actor, subject, request_id: requestId, search } = query
    const [since, until] = [timeOf('since', query), timeOf('until', query)]
    const action = choiceOf('action', AUDIT_ACTIONS, query)
    const cursor = cursorIn('before', query)
    const before = cursor === undefined ? undefined : keyOf<number>(cursor)
    const limit = limitOf(query)
    const asked = { since, until, action, actor, subject, requestId, search, before, limit }
    const { events, next } = await searchAuditEvents(asked)
    return { audit_events: events.map(auditEventView), next: next === undefined ? null : cursorOf(next) }
  })
}
