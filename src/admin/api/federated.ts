import { type FederatedInput, federatedSchema } from '../../administration/rules.ts'
import { flag, jsonSchema, list, object, text, whole } from '../../views/schema.ts'
import { type AddRoute, answer, body, repeatable } from './routes.ts'

const ADD = {
  body: body('FederatedInput', 'Which JWTs are accepted in the place of a secret', federatedSchema),
  ...answer(object('AddedFederated', 'A new federated credential', { id: whole('Its id among the secrets') }), 201),
}

const STEP = object('TestStep', 'A step', {
  ok: flag('Whether it was passed'),
  text: text('What was found, for people'),
})

const TEST = {
  body: jsonSchema(object('TestedToken', 'A JWT', { token: text('The JWT. It is not kept') })),
  ...answer(
    object('FederatedTest', 'What would happen with a JWT', {
      accepted: flag('Whether it would be accepted'),
      steps: list('What was checked, in this order, up to the first step that fails', STEP),
    }),
  ),
}

export function federated(route: AddRoute): void {
  const path = '/applications/:client_id/federated'

  route<FederatedInput>('POST', path, ADD, async ({ federated }, request, reply) => ({
    id: await federated.add(request.params.client_id, request.body, repeatable(request, reply)),
  }))

  route<{ token: string }>('POST', `${path}/test`, TEST, ({ federated }, { params, body }) =>
    federated.test(params.client_id, body.token),
  )
}
