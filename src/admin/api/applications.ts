import type { FastifyInstance } from 'fastify'
import { aboutSuite, COMMANDS, type Instructions } from '../../administration/remedies.ts'
import { registrationSchema, updateSchema } from '../../administration/rules.ts'
import {
  EXPLANATION,
  explanationView,
  LISTED_APPLICATION,
  listedApplicationView,
  registeredApplicationView,
  SHOWN_APPLICATION,
  shownApplicationView,
} from '../../administration/views.ts'
import { APPLICATION } from '../../domain/application.ts'
import { camelCased, constant, list, object, text } from '../../domain/schema.ts'
import type { AdminContext } from '../context.ts'
import { administrationOf } from '../wire/caller.ts'
import { changes, repeatable, sendCreated } from './changes.ts'
import { choiceOf, pageOptions, type Query } from './query.ts'
import { answer, body, pageOf, query } from './schemas.ts'

interface OneApplication {
  Params: { client_id: string }
}

const STATUSES = ['active', 'suspended'] as const

const LIST = {
  querystring: query('search', 'status', 'limit', 'after'),
  ...answer(pageOf('ApplicationPage', 'applications', list('Newest first', LISTED_APPLICATION))),
}

const SHOW = answer(SHOWN_APPLICATION)

const SHAPE = APPLICATION.shape

const REGISTERED = object('RegisteredApplication', 'An application with its secret', {
  client_id: SHAPE.client_id,
  client_secret: text('The secret. It is shown only once'),
  name: SHAPE.name,
  developer_email: SHAPE.developer_email,
  status: constant('active', 'It can get tokens'),
  suites: SHAPE.suites,
})

const REGISTER = {
  body: body('Registration', 'A new application', registrationSchema.omit({ clientSecret: true })),
  ...answer(REGISTERED, 201),
}

const EXPLAIN = answer(EXPLANATION)

const CHANGE = {
  body: { ...body('ApplicationChanges', 'The fields to change', updateSchema), minProperties: 1 },
  ...SHOW,
}

const APPLICATIONS = '/admin/v1/applications'

/** API calls, followed by the same commands for people who read the answer. */
const API_INSTRUCTIONS: Instructions = {
  resume: (clientId) => `DELETE ${pathOf(clientId)}/suspension (or ${COMMANDS.resume(clientId)})`,
  rotate: (owner) => `POST to its /secrets (or ${COMMANDS.rotate(owner)})`,
  approve: (clientId, suites) => `PUT ${pathOf(clientId)}/suites/{suite_id} (or ${COMMANDS.approve(clientId, suites)})`,
  list: `GET ${APPLICATIONS}`,
  ofSuite: aboutSuite(`POST ${APPLICATIONS}`),
}

function pathOf(clientId: string): string {
  return `${APPLICATIONS}/${encodeURIComponent(clientId)}`
}

/** /applications, except their secrets. */
export function applications(api: FastifyInstance, context: AdminContext): void {
  api.get<{ Querystring: Query }>('/applications', { schema: LIST }, async (request) => {
    const { applications } = administrationOf(context, request)
    const { search } = request.query
    const status = choiceOf('status', STATUSES, request.query)
    const found = await applications.search({ text: search, status, ...pageOptions(request.query) })
    return { applications: found.applications.map(listedApplicationView), next: found.next ?? null }
  })

  api.post<{ Body: Record<string, unknown> }>('/applications', { schema: REGISTER }, async (request, reply) => {
    const { applications } = administrationOf(context, request)
    const registered = await applications.register(camelCased(request.body), repeatable(request, reply))
    const view = { ...registeredApplicationView(registered), suites: registered.suites }
    return sendCreated(reply, view, `applications/${encodeURIComponent(registered.clientId)}`)
  })

  const path = '/applications/:client_id'
  api.get<OneApplication>(path, { schema: SHOW }, async (request) => {
    const { applications } = administrationOf(context, request)
    return shownApplicationView(await applications.show(request.params.client_id))
  })

  api.patch<OneApplication & { Body: Record<string, unknown> }>(path, { schema: CHANGE }, async (request) => {
    const { applications } = administrationOf(context, request)
    const { client_id: clientId } = request.params
    await applications.update(clientId, camelCased(request.body))
    return shownApplicationView(await applications.show(clientId))
  })

  api.get<OneApplication>(`${path}/diagnosis`, { schema: EXPLAIN }, async (request) => {
    const { why } = administrationOf(context, request)
    return explanationView(await why(request.params.client_id, API_INSTRUCTIONS))
  })

  const change = changes<{ client_id: string; suite_id: string }>(api, context)
  change('DELETE', path, ({ applications }, { client_id }) => applications.remove(client_id))
  change('PUT', `${path}/suspension`, ({ applications }, { client_id }) => applications.suspend(client_id))
  change('DELETE', `${path}/suspension`, ({ applications }, { client_id }) => applications.resume(client_id))
  change('DELETE', `${path}/tokens`, ({ applications }, { client_id }) => applications.revokeAllTokens(client_id))

  const approval = `${path}/suites/:suite_id`
  change('PUT', approval, ({ applications }, { client_id, suite_id }) => applications.approve(client_id, suite_id))
  change('DELETE', approval, ({ applications }, { client_id, suite_id }) => applications.withdraw(client_id, suite_id))
}
