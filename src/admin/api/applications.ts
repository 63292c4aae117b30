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
import { camelCased } from '../../domain/text.ts'
import { APPLICATION } from '../../domain/views/application.ts'
import { constant, list, object, text } from '../../domain/views/schema.ts'
import { choiceOf, pageOptions } from './query.ts'
import { type AddRoute, repeatable } from './routes.ts'
import { answer, body, pageOf, query } from './schemas.ts'

const STATUSES = ['active', 'suspended'] as const

const LIST = {
  querystring: query('search', 'status', 'limit', 'after', 'format'),
  ...answer(pageOf('ApplicationPage', 'applications', list('Newest first', LISTED_APPLICATION))),
}

const SHOW = answer(SHOWN_APPLICATION)

const { client_id, ...OTHER_FIELDS } = APPLICATION.omit({ created_at: true, tokens_valid_from: true }).shape

const REGISTERED = object('RegisteredApplication', 'An application with its secret', {
  client_id,
  client_secret: text('The secret. It is shown only once'),
  ...OTHER_FIELDS,
  // Replaces the field's description, and keeps its place.
  ...{ status: constant('active', 'It can get tokens') },
})

const REGISTER = {
  body: body('Registration', 'A new application', registrationSchema.omit({ clientSecret: true })),
  ...answer(REGISTERED, 201),
}

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
export function applications(route: AddRoute): void {
  route('GET', '/applications', LIST, async ({ applications }, { query }) => {
    const status = choiceOf('status', STATUSES, query)
    const found = await applications.search({ text: query.search, status, ...pageOptions(query) })
    return { applications: found.applications.map(listedApplicationView), next: found.next ?? null }
  })

  route<object>('POST', '/applications', REGISTER, async ({ applications }, request, reply) => {
    const registered = await applications.register(camelCased(request.body), repeatable(request, reply))
    reply.header('location', pathOf(registered.clientId))
    return { ...registeredApplicationView(registered), suites: registered.suites }
  })

  const path = '/applications/:client_id'
  route('GET', path, SHOW, async ({ applications }, { params: { client_id } }) =>
    shownApplicationView(await applications.show(client_id)),
  )

  route<object>('PATCH', path, CHANGE, async ({ applications }, { params: { client_id }, body }) => {
    await applications.update(client_id, camelCased(body))
    return shownApplicationView(await applications.show(client_id))
  })

  route('GET', `${path}/diagnosis`, answer(EXPLANATION), async ({ why }, { params: { client_id } }) =>
    explanationView(await why(client_id, API_INSTRUCTIONS)),
  )

  route('DELETE', path, {}, ({ applications }, { params }) => applications.remove(params.client_id))
  route('PUT', `${path}/suspension`, {}, ({ applications }, { params }) => applications.suspend(params.client_id))
  route('DELETE', `${path}/suspension`, {}, ({ applications }, { params }) => applications.resume(params.client_id))
  route('DELETE', `${path}/tokens`, {}, ({ applications }, { params }) =>
    applications.revokeAllTokens(params.client_id),
  )

  const approval = `${path}/suites/:suite_id`
  route('PUT', approval, {}, ({ applications }, { params: { client_id, suite_id } }) =>
    applications.approve(client_id, suite_id),
  )
  route('DELETE', approval, {}, ({ applications }, { params: { client_id, suite_id } }) =>
    applications.withdraw(client_id, suite_id),
  )
}
