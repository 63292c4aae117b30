import type { FastifyInstance } from 'fastify'
import { applicationView, registeredSuiteView, shownSuiteView, suiteView } from '../../administration/views.ts'
import type { AdminContext } from '../context.ts'
import { administrationOf } from '../wire/caller.ts'
import { repeatable, sendCreated } from './created.ts'
import { pageOptions, type Query } from './query.ts'
import { APPROVED_APPLICATION, LISTED_SUITE, object, pageOf, query, SHOWN_SUITE, TEXT } from './schemas.ts'

interface OneSuite {
  Params: { suite_id: string }
}

const LIST = { querystring: query('limit', 'after'), response: { 200: pageOf('suites', LISTED_SUITE) } }

const REGISTER = {
  body: object({ id: TEXT, name: TEXT }),
  response: { 201: object({ id: TEXT, client_id: TEXT, client_secret: TEXT, name: TEXT }) },
}

const CHANGE = { body: object({ name: TEXT }), response: { 200: SHOWN_SUITE } }

const LIST_APPROVED = {
  querystring: query('limit', 'after'),
  response: { 200: pageOf('applications', APPROVED_APPLICATION) },
}

/** /suites, except their secrets. */
export function suites(api: FastifyInstance, context: AdminContext): void {
  api.get<{ Querystring: Query }>('/suites', { schema: LIST }, async (request) => {
    const { suites } = administrationOf(context, request)
    const { rows, next } = await suites.listPage(pageOptions(request.query))
    return { suites: rows.map(suiteView), next: next ?? null }
  })

  api.post<{ Body: { id: string; name: string } }>('/suites', { schema: REGISTER }, async (request, reply) => {
    const { suites } = administrationOf(context, request)
    const { id: suiteId, name } = request.body
    const registered = await suites.register({ suiteId, name }, repeatable(request, reply))
    return sendCreated(reply, registeredSuiteView(registered), `suites/${registered.suiteId}`)
  })

  const path = '/suites/:suite_id'
  api.get<OneSuite>(path, { schema: { response: { 200: SHOWN_SUITE } } }, async (request) => {
    const { suites } = administrationOf(context, request)
    return shownSuiteView(await suites.show(request.params.suite_id))
  })

  api.patch<OneSuite & { Body: { name: string } }>(path, { schema: CHANGE }, async (request) => {
    const { suites } = administrationOf(context, request)
    const { suite_id: suiteId } = request.params
    await suites.update(suiteId, request.body)
    return shownSuiteView(await suites.show(suiteId))
  })

  api.delete<OneSuite>(path, async (request, reply) => {
    const { suites } = administrationOf(context, request)
    await suites.remove(request.params.suite_id)
    return reply.code(204).send()
  })

  api.get<OneSuite & { Querystring: Query }>(`${path}/applications`, { schema: LIST_APPROVED }, async (request) => {
    const { suites } = administrationOf(context, request)
    const { suiteId } = await suites.show(request.params.suite_id)
    const { rows, next } = await suites.listApprovedPage(suiteId, pageOptions(request.query))
    return { applications: rows.map(applicationView), next: next ?? null }
  })
}
