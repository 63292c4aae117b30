import { approvalsSchema, suiteSchema, suiteUpdateSchema } from '../../administration/rules.ts'
import type { SuiteRegistration } from '../../administration/suites.ts'
import { registeredSuiteView, SHOWN_SUITE, shownSuiteView } from '../../administration/views.ts'
import type { SuiteChanges } from '../../domain/suite.ts'
import { camelCased } from '../../domain/text.ts'
import {
  APPLICATION,
  applicationFields,
  PUBLIC_FIELDS,
  SHOWN_ANNOTATIONS,
  SUITE,
  suiteFields,
} from '../../views/registry.ts'
import { list, object, text } from '../../views/schema.ts'
import { labelsOf, pageOptions, query } from './query.ts'
import { type AddRoute, answer, body, pageOf, repeatable, showing } from './routes.ts'

const LIST = {
  querystring: query('label', 'limit', 'after'),
  ...answer(pageOf('SuitePage', 'suites', list('Oldest first', SUITE))),
}

const REGISTERED = object('RegisteredSuite', 'A suite with its secret', {
  id: text('Its id'),
  client_id: text('The client id of the suite: the same as the id'),
  client_secret: text('The secret. It is shown only once'),
  name: SUITE.shape.name,
  url: SUITE.shape.url,
  ...SHOWN_ANNOTATIONS,
})

const REGISTER = { body: body('SuiteRegistration', 'A new suite', suiteSchema), ...answer(REGISTERED, 201) }

const SHOW = answer(SHOWN_SUITE)

const CHANGE = {
  body: { ...body('SuiteChanges', 'The fields to change', suiteUpdateSchema), minProperties: 1 },
  ...SHOW,
}

const LIST_APPROVED = {
  querystring: query('limit', 'after'),
  ...answer(pageOf('ApprovedPage', 'applications', list('Oldest first', APPLICATION))),
}

const CHANGE_APPROVALS = {
  querystring: query('dry_run'),
  body: body('Approvals', 'Applications to approve, or whose approvals to withdraw', approvalsSchema),
  ...answer(
    object('ChangedApprovals', 'What changed, or would change', {
      client_ids: list('The client ids of those whose approval changed', APPLICATION.shape.client_id),
    }),
  ),
}

export function suites(route: AddRoute): void {
  route('GET', '/suites', LIST, async ({ suites }, { query }) => {
    const { rows, next } = await suites.listPage({ labels: labelsOf(query), ...pageOptions(query) })
    return { suites: rows.map(suiteFields), next: next ?? null }
  })

  route<SuiteRegistration & { id: string }>('POST', '/suites', REGISTER, async ({ suites }, request, reply) => {
    const { id: suiteId, ...values } = request.body
    const wanted = { ...camelCased<typeof values>(values), suiteId }
    const registered = await suites.register(wanted, repeatable(request, reply))
    reply.header('location', `/admin/v1/suites/${registered.suiteId}`)
    return registeredSuiteView(registered)
  })

  const path = '/suites/:suite_id'
  const show = showing(({ suites }, id) => suites.show(id), PUBLIC_FIELDS.suite, shownSuiteView)
  route('GET', path, SHOW, (administration, { params }, reply) => show(administration, params.suite_id, reply))

  route<SuiteChanges>('PATCH', path, CHANGE, async (administration, { params: { suite_id }, body }, reply) => {
    await administration.suites.update(suite_id, camelCased(body))
    return show(administration, suite_id, reply)
  })

  route('DELETE', path, {}, ({ suites }, { params }) => suites.remove(params.suite_id))

  route('GET', `${path}/applications`, LIST_APPROVED, async ({ suites }, { params, query }) => {
    const { suiteId } = await suites.show(params.suite_id)
    const { rows, next } = await suites.listApprovedPage(suiteId, pageOptions(query))
    return { applications: rows.map(applicationFields), next: next ?? null }
  })

  type Approvals = { client_ids: string[]; approved: boolean }
  route<Approvals>('POST', `${path}/approvals`, CHANGE_APPROVALS, async ({ suites }, { params, body }) => ({
    client_ids: await suites.changeApprovals(params.suite_id, body.client_ids, body.approved),
  }))
}
