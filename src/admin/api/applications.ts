import type { FastifyInstance } from 'fastify'
import { aboutSuite, COMMANDS, type Instructions } from '../../administration/remedies.ts'
import {
  explanationView,
  listedApplicationView,
  registeredApplicationView,
  shownApplicationView,
} from '../../administration/views.ts'
import type { AdminContext } from '../context.ts'
import { administrationOf } from '../wire/caller.ts'
import { repeatable, sendCreated } from './created.ts'
import { choiceOf, pageOptions, type Query } from './query.ts'
import { EXPLANATION, LISTED_APPLICATION, listOf, object, pageOf, query, SHOWN_APPLICATION, TEXT } from './schemas.ts'

interface OneApplication {
  Params: { client_id: string }
}

interface Registration {
  name: string
  developer_email: string
  client_id?: string
  suites?: string[]
}

interface Changes {
  name?: string
  developer_email?: string
}

const STATUSES = ['active', 'suspended'] as const

const LIST = {
  querystring: query('search', 'status', 'limit', 'after'),
  response: { 200: pageOf('applications', LISTED_APPLICATION) },
}

const REGISTER = {
  body: object(
    { name: TEXT, developer_email: TEXT, client_id: TEXT, suites: listOf(TEXT) },
    { optional: ['client_id', 'suites'] },
  ),
  response: {
    201: object({
      client_id: TEXT,
      client_secret: TEXT,
      name: TEXT,
      developer_email: TEXT,
      status: TEXT,
      suites: listOf(TEXT),
    }),
  },
}

const CHANGE = {
  body: {
    ...object({ name: TEXT, developer_email: TEXT }, { optional: ['name', 'developer_email'] }),
    minProperties: 1,
  },
  response: { 200: SHOWN_APPLICATION },
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

/** /applications, except their approvals and secrets. */
export function applications(api: FastifyInstance, context: AdminContext): void {
  api.get<{ Querystring: Query }>('/applications', { schema: LIST }, async (request) => {
    const { applications } = administrationOf(context, request)
    const { search: text } = request.query
    const status = choiceOf('status', STATUSES, request.query)
    const found = await applications.search({ text, status, ...pageOptions(request.query) })
    return { applications: found.applications.map(listedApplicationView), next: found.next ?? null }
  })

  api.post<{ Body: Registration }>('/applications', { schema: REGISTER }, async (request, reply) => {
    const { applications } = administrationOf(context, request)
    const { name, developer_email: developerEmail, client_id: clientId, suites } = request.body
    const registration = { name, developerEmail, clientId, suites }
    const registered = await applications.register(registration, repeatable(request, reply))
    const view = { ...registeredApplicationView(registered), suites: registered.suites }
    return sendCreated(reply, view, `applications/${encodeURIComponent(registered.clientId)}`)
  })

  const path = '/applications/:client_id'
  api.get<OneApplication>(path, { schema: { response: { 200: SHOWN_APPLICATION } } }, async (request) => {
    const { applications } = administrationOf(context, request)
    return shownApplicationView(await applications.show(request.params.client_id))
  })

  api.patch<OneApplication & { Body: Changes }>(path, { schema: CHANGE }, async (request) => {
    const { applications } = administrationOf(context, request)
    const { client_id: clientId } = request.params
    const { name, developer_email: developerEmail } = request.body
    await applications.update(clientId, { name, developerEmail })
    return shownApplicationView(await applications.show(clientId))
  })

  api.delete<OneApplication>(path, async (request, reply) => {
    const { applications } = administrationOf(context, request)
    await applications.remove(request.params.client_id)
    return reply.code(204).send()
  })

  api.get<OneApplication>(`${path}/diagnosis`, { schema: { response: { 200: EXPLANATION } } }, async (request) => {
    const { why } = administrationOf(context, request)
    return explanationView(await why(request.params.client_id, API_INSTRUCTIONS))
  })

  api.put<OneApplication>(`${path}/suspension`, async (request, reply) => {
    const { applications } = administrationOf(context, request)
    await applications.suspend(request.params.client_id)
    return reply.code(204).send()
  })

  api.delete<OneApplication>(`${path}/suspension`, async (request, reply) => {
    const { applications } = administrationOf(context, request)
    await applications.resume(request.params.client_id)
    return reply.code(204).send()
  })

  api.delete<OneApplication>(`${path}/tokens`, async (request, reply) => {
    const { applications } = administrationOf(context, request)
    await applications.revokeAllTokens(request.params.client_id)
    return reply.code(204).send()
  })
}

interface OneApproval {
  Params: { client_id: string; suite_id: string }
}

/** /applications/{client_id}/suites: the suites that an application is approved for. */
export function approvals(api: FastifyInstance, context: AdminContext): void {
  const path = '/applications/:client_id/suites/:suite_id'
  api.put<OneApproval>(path, async (request, reply) => {
    const { applications } = administrationOf(context, request)
    await applications.approve(request.params.client_id, request.params.suite_id)
    return reply.code(204).send()
  })

  api.delete<OneApproval>(path, async (request, reply) => {
    const { applications } = administrationOf(context, request)
    await applications.withdraw(request.params.client_id, request.params.suite_id)
    return reply.code(204).send()
  })
}
