import { cursorOf, keyOf } from '../../administration/pages.ts'
import { AUDIT_EVENT, auditEventView } from '../../administration/views.ts'
import { list } from '../../domain/views/schema.ts'
import { cursorIn, limitOf, timeOf } from './query.ts'
import type { AddRoute } from './routes.ts'
import { answer, pageOf, query } from './schemas.ts'

const LIST = {
  querystring: query('since', 'actor', 'subject', 'limit', 'before'),
  ...answer(pageOf('AuditPage', 'audit_events', list('Newest first', AUDIT_EVENT))),
}

/** /audit-events, newest first. */
export function auditEvents(route: AddRoute): void {
  route('GET', '/audit-events', LIST, async ({ listAuditEvents }, { query }) => {
    const { actor, subject } = query
    const since = timeOf('since', query)
    const limit = limitOf(query)
    const cursor = cursorIn('before', query)
    const before = cursor === undefined ? undefined : keyOf<number>(cursor)
    // One extra row shows whether there is a next page.
    const found = await listAuditEvents({ since, actor, subject, before, limit: limit + 1 })
    const page = found.slice(0, limit)
    const next = found.length > limit ? cursorOf(page.at(-1)?.id) : null
    return { audit_events: page.map(auditEventView), next }
  })
}
