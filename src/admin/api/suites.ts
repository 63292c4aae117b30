import type { FastifyInstance } from 'fastify'
import { suiteSchema, suiteUpdateSchema } from '../../administration/rules.ts'
import { registeredSuiteView, SHOWN_SUITE, shownSuiteView } from '../../administration/views.ts'
import { APPLICATION, applicationFields } from '../../domain/application.ts'
import { list, object, text } from '../../domain/schema.ts'
import { SUITE, suiteFields } from '../../domain/suite.ts'
import type { AdminContext } from '../context.ts'
import { administrationOf } from '../wire/caller.ts'
import { changes, repeatable, sendCreated } from './changes.ts'
import { pageOptions, type Query } from './query.ts'
import { answer, body, pageOf, query } from './schemas.ts'

interface OneSuite {
  Params: { suite_id: string }
}

const LIST = {
  querystring: query('limit', 'after'),
  ...answer(pageOf('SuitePage', 'suites', list('The oldest first', SUITE))),
}

const REGISTERED = object('RegisteredSuite', 'A suite with its secret', {
  id: text('Its id'),
  client_id: text('The client id of the suite: the same as the id'),
  client_secret: text('The secret. It is shown only once'),
  name: SUITE.shape.name,
})

const REGISTER = { body: body('SuiteRegistration', 'A new suite', suiteSchema), ...answer(REGISTERED, 201) }

const SHOW = answer(SHOWN_SUITE)

const CHANGE = { body: body('SuiteChanges', 'The fields to change', suiteUpdateSchema), ...SHOW }

const LIST_APPROVED = {
  querystring: query('limit', 'after'),
  ...answer(pageOf('ApprovedPage', 'applications', list('Oldest first', APPLICATION))),
}

/** /suites, except their secrets. */
export function suites(api: FastifyInstance, context: AdminContext): void {
  api.get<{ Querystring: Query }>('/suites', { schema: LIST }, async (request) => {
    const { suites } = administrationOf(context, request)
    const { rows, next } = await suites.listPage(pageOptions(request.query))
    return { suites: rows.map(suiteFields), next: next ?? null }
  })

  api.post<{ Body: { id: string; name: string } }>('/suites', { schema: REGISTER }, async (request, reply) => {
    const { suites } = administrationOf(context, request)
    const { id: suiteId, name } = request.body
    const registered = await suites.register({ suiteId, name }, repeatable(request, reply))
    return sendCreated(reply, registeredSuiteView(registered), `suites/${registered.suiteId}`)
  })

  const path = '/suites/:suite_id'
  api.get<OneSuite>(path, { schema: SHOW }, async (request) => {
    const { suites } = administrationOf(context, request)
    return shownSuiteView(await suites.show(request.params.suite_id))
  })

  api.patch<OneSuite & { Body: { name: string } }>(path, { schema: CHANGE }, async (request) => {
    const { suites } = administrationOf(context, request)
    const { suite_id: suiteId } = request.params
    await suites.update(suiteId, request.body)
    return shownSuiteView(await suites.show(suiteId))
  })

  const change = changes<OneSuite['Params']>(api, context)
  change('DELETE', path, ({ suites }, { suite_id }) => suites.remove(suite_id))

  api.get<OneSuite & { Querystring: Query }>(`${path}/applications`, { schema: LIST_APPROVED }, async (request) => {
    const { suites } = administrationOf(context, request)
    const { suiteId } = await suites.show(request.params.suite_id)
    const { rows, next } = await suites.listApprovedPage(suiteId, pageOptions(request.query))
    return { applications: rows.map(applicationFields), next: next ?? null }
  })
}
