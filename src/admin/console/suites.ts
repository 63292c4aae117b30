import type { FastifyInstance } from 'fastify'
import type { AdminContext } from '../context.ts'
import { administrationOf } from '../wire/administration.ts'
import { fieldsOf } from './fields.ts'
import { showPage } from './page.ts'
import { suitesPage } from './suites-page.ts'
import { canChange } from './viewers.ts'

const PAGE_SIZE = 50

/** /suites: the list. */
export function listSuites(console: FastifyInstance, context: AdminContext): void {
  console.get('/suites', async (request, reply) => {
    const after = fieldsOf(request.query).text('after') || undefined
    const { suites } = administrationOf(context, request)
    const { rows, next } = await suites.listPage({ after, limit: PAGE_SIZE })
    const page = { suites: rows, next, isFirst: after === undefined, canChange: canChange(request) }
    return showPage(reply, suitesPage(page))
  })
}
