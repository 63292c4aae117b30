import { operatorView } from '../../administration/views.ts'
import { OPERATOR } from '../../views/registry.ts'
import { list, object } from '../../views/schema.ts'
import { idOf } from '../wire/routing.ts'
import { type AddRoute, answer } from './routes.ts'

const LIST = answer(object('Operators', 'All operators', { operators: list('Oldest first', OPERATOR) }))

/**
 * /operators: lists them and removes access. Only the command line creates operators, keys and login links, so that stolen
 * credentials cannot create others.
 */
export function operators(route: AddRoute): void {
  route('GET', '/operators', LIST, async ({ operators }) => ({ operators: (await operators.list()).map(operatorView) }))

  const path = '/operators/:name'
  route('GET', path, answer(OPERATOR), async ({ operators }, { params: { name } }) =>
    operatorView(await operators.show(name)),
  )
  route('DELETE', path, {}, ({ operators }, { params: { name } }) => operators.remove(name))
  route('DELETE', `${path}/keys/:id`, {}, async ({ operators }, { params: { name, id } }) =>
    operators.revokeKey(name, idOf(id)),
  )
  route('DELETE', `${path}/sessions/:id`, {}, async ({ operators }, { params: { name, id } }) =>
    operators.endSession(name, idOf(id)),
  )
}
