import { aboutSuite, COMMANDS, type Instructions } from '../../administration/remedies.ts'
import { registrationSchema, settingsSchema, updateSchema } from '../../administration/rules.ts'
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
import { NEW_APPLICATION, PUBLIC_FIELDS } from '../../views/registry.ts'
import { fields, list, object, text, whole } from '../../views/schema.ts'
import { choiceOf, labelsOf, pageOptions, query } from './query.ts'
import { type AddRoute, answer, body, pageOf, repeatable, showing } from './routes.ts'

const STATUSES = ['active', 'suspended'] as const

const LIST = {
  querystring: query('search', 'status', 'suite', 'label', 'limit', 'after'),
  ...answer(
    pageOf('ApplicationPage', 'applications', list('Newest first', LISTED_APPLICATION), {
      total: whole('How many match on all pages; null except on the first page').nullable(),
    }),
  ),
}

const SHOW = answer(SHOWN_APPLICATION)

const { client_id, federated: _, ...OTHER_FIELDS } = NEW_APPLICATION.shape

const REGISTERED = object('RegisteredApplication', 'An application with its secret', {
  client_id,
  client_secret: text('The secret. It is shown only once; empty if it has federated credentials instead'),
  ...OTHER_FIELDS,
})

const REGISTER = {
  body: body('Registration', 'A new application', registrationSchema.omit({ clientSecret: true })),
  ...answer(REGISTERED, 201),
}

const CHANGE = {
  body: { ...body('ApplicationChanges', 'The fields to change', updateSchema), minProperties: 1 },
  ...SHOW,
}

const SET = {
  querystring: query('dry_run'),
  body: body('ApplicationSettings', 'The new settings of an application', settingsSchema),
  ...answer(
    object('ApplicationDifference', 'What changed', {
      changed: list('The fields that differed; empty if nothing changed', text('The name of a field')),
      before: fields('Their values before. For lists, only the entries that were removed'),
      after: fields('Their values now. For lists, only the entries that were added'),
    }),
  ),
}

const APPLICATIONS = '/admin/v1/applications'

/** API calls, followed by commands that do the same, for people who read the answer. */
const API_INSTRUCTIONS: Instructions = {
  resume: (clientId) => `DELETE ${pathOf(clientId)}/suspension (or ${COMMANDS.resume(clientId)})`,
  edit: (clientId, ...rest) => `PATCH ${pathOf(clientId)} (or ${COMMANDS.edit(clientId, ...rest)})`,
  rotate: (owner, isAtOnce = false) =>
    `POST to its /secrets${isAtOnce ? ' with overlap_seconds 0' : ''} (or ${COMMANDS.rotate(owner, isAtOnce)})`,
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
    const { search: text, suite } = query
    const found = await applications.search({ text, status, suite, labels: labelsOf(query), ...pageOptions(query) })
    const { next = null, total = null } = found
    return { applications: found.applications.map(listedApplicationView), next, total }
  })

  route<object>('POST', '/applications', REGISTER, async ({ applications }, request, reply) => {
    const registered = await applications.register(camelCased(request.body), repeatable(request, reply))
    reply.header('location', pathOf(registered.clientId))
    return { ...registeredApplicationView(registered), suites: registered.suites }
  })

  const path = '/applications/:client_id'
  const show = showing(({ applications }, id) => applications.show(id), PUBLIC_FIELDS.application, shownApplicationView)
  route('GET', path, SHOW, (administration, { params }, reply) => show(administration, params.client_id, reply))

  route<object>('PATCH', path, CHANGE, async (administration, { params: { client_id }, body }, reply) => {
    await administration.applications.update(client_id, camelCased(body))
    return show(administration, client_id, reply)
  })

  // It never registers one: clients and proxies may repeat a PUT on their own, and the secret of the first answer would be lost.
  route<object>('PUT', path, SET, async ({ applications }, { params: { client_id }, body }) => {
    const { fields: changed, before, after } = await applications.set(client_id, camelCased(body))
    return { changed, before: before ?? {}, after: after ?? {} }
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
