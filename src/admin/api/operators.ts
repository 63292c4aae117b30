import type { FastifyInstance } from 'fastify'
import { operatorView } from '../../administration/views.ts'
import { OPERATOR } from '../../domain/operator.ts'
import { list, object } from '../../domain/schema.ts'
import type { AdminContext } from '../context.ts'
import { administrationOf } from '../wire/caller.ts'
import { idOf } from '../wire/routing.ts'
import { changes } from './changes.ts'
import { answer } from './schemas.ts'

interface OneOperator {
  Params: { name: string }
}

const LIST = answer(object('Operators', 'All operators', { operators: list('The oldest first', OPERATOR) }))

const SHOW = answer(OPERATOR)

/**
 * /operators: lists them and takes away access. Operators, keys and login links are created on the command line only, so that
 * stolen credentials cannot create others.
 */
export function operators(api: FastifyInstance, context: AdminContext): void {
  api.get('/operators', { schema: LIST }, async (request) => {
    const { operators } = administrationOf(context, request)
    return { operators: (await operators.list()).map(operatorView) }
  })

  const path = '/operators/:name'
  api.get<OneOperator>(path, { schema: SHOW }, async (request) => {
    const { operators } = administrationOf(context, request)
    return operatorView(await operators.show(request.params.name))
  })

  const change = changes<{ name: string; id: string }>(api, context)
  change('DELETE', path, ({ operators }, { name }) => operators.remove(name))
  change('DELETE', `${path}/keys/:id`, ({ operators }, { name, id }) => operators.revokeKey(name, idOf(id)))
  change('DELETE', `${path}/sessions/:id`, ({ operators }, { name, id }) => operators.endSession(name, idOf(id)))
}
