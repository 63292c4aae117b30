import type { FastifyInstance } from 'fastify'
import { operatorView } from '../../administration/views.ts'
import type { AdminContext } from '../context.ts'
import { administrationOf } from '../wire/caller.ts'
import { idOf } from '../wire/routing.ts'
import { listOf, OPERATOR, object } from './schemas.ts'

interface OneOperator {
  Params: { name: string }
}

interface KeyOrSession {
  Params: { name: string; id: string }
}

/**
 * /operators: lists them and takes away access. Operators, keys and login links are created on the command line only, so that
 * stolen credentials cannot create others.
 */
export function operators(api: FastifyInstance, context: AdminContext): void {
  api.get('/operators', { schema: { response: { 200: object({ operators: listOf(OPERATOR) }) } } }, async (request) => {
    const { operators } = administrationOf(context, request)
    return { operators: (await operators.list()).map(operatorView) }
  })

  const path = '/operators/:name'
  api.get<OneOperator>(path, { schema: { response: { 200: OPERATOR } } }, async (request) => {
    const { operators } = administrationOf(context, request)
    return operatorView(await operators.show(request.params.name))
  })

  api.delete<OneOperator>(path, async (request, reply) => {
    const { operators } = administrationOf(context, request)
    await operators.remove(request.params.name)
    return reply.code(204).send()
  })

  api.delete<KeyOrSession>(`${path}/keys/:id`, async (request, reply) => {
    const { operators } = administrationOf(context, request)
    await operators.revokeKey(request.params.name, idOf(request.params.id))
    return reply.code(204).send()
  })

  api.delete<KeyOrSession>(`${path}/sessions/:id`, async (request, reply) => {
    const { operators } = administrationOf(context, request)
    await operators.endSession(request.params.name, idOf(request.params.id))
    return reply.code(204).send()
  })
}
