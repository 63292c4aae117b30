import type { FastifyInstance } from 'fastify'
import { cursorOf, keyOf } from '../../administration/pages.ts'
import { AUDIT_EVENT, auditEventView } from '../../administration/views.ts'
import { list } from '../../domain/schema.ts'
import type { AdminContext } from '../context.ts'
import { administrationOf } from '../wire/caller.ts'
import { cursorIn, limitOf, type Query, timeOf } from './query.ts'
import { answer, pageOf, query } from './schemas.ts'

const LIST = {
  querystring: query('since', 'actor', 'subject', 'limit', 'before'),
  ...answer(pageOf('AuditPage', 'audit_events', list('The newest first', AUDIT_EVENT))),
}

/** /audit-events, newest first. */
export function auditEvents(api: FastifyInstance, context: AdminContext): void {
  api.get<{ Querystring: Query }>('/audit-events', { schema: LIST }, async (request) => {
    const { listAuditEvents } = administrationOf(context, request)
    const { actor, subject } = request.query
    const since = timeOf('since', request.query)
    const limit = limitOf(request.query)
    const cursor = cursorIn('before', request.query)
    const before = cursor === undefined ? undefined : keyOf<number>(cursor)
    // One extra row shows whether there is a next page.
    const found = await listAuditEvents({ since, actor, subject, before, limit: limit + 1 })
    const page = found.slice(0, limit)
    const next = found.length > limit ? cursorOf(page.at(-1)?.id) : null
    return { audit_events: page.map(auditEventView), next }
  })
}
