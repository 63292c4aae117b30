import type { FastifyInstance } from 'fastify'
import type { Application } from '../../domain/application.ts'
import type { AdminContext } from '../context.ts'
import { administrationOf } from '../wire/administration.ts'
import { applicationsPage } from './applications-page.ts'
import { fieldsOf } from './fields.ts'
import { showPage } from './page.ts'
import { canChange } from './viewers.ts'

const PAGE_SIZE = 50

const STATUSES: readonly Application['status'][] = ['active', 'suspended']

/** /applications: the list, with search. */
export function listApplications(console: FastifyInstance, context: AdminContext): void {
  const { now } = context
  console.get('/applications', async (request, reply) => {
    const query = fieldsOf(request.query)
    const text = query.text('search')
    const status = STATUSES.find((status) => status === query.text('status'))
    const after = query.text('after') || undefined
    const { applications } = administrationOf(context, request)
    const found = await applications.search({ text, status, after, limit: PAGE_SIZE })
    const page = { text, status, found, isFirst: after === undefined, now: now(), canChange: canChange(request) }
    return showPage(reply, applicationsPage(page))
  })
}
