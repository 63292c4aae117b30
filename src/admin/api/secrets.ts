import { secretView } from '../../administration/views.ts'
import { OperatorError } from '../../domain/operator-error.ts'
import { SECRET } from '../../views/registry.ts'
import { jsonSchema, list, object, text, time, view, whole } from '../../views/schema.ts'
import { idOf } from '../wire/routing.ts'
import { choiceOf, query } from './query.ts'
import { type AddRoute, answer, repeatable } from './routes.ts'

/** How long previous secrets stay valid after a rotation, in seconds: a day by default, a year at most. */
const DEFAULT_OVERLAP = 86_400
const MAX_OVERLAP = 365 * 86_400

const LIST = answer(
  object('Secrets', 'All secrets of one application or suite', { secrets: list('Oldest first', SECRET) }),
)

const REVOKE = { querystring: query('force') }

const ROTATED = object('RotatedSecret', 'A new secret', {
  client_id: text('The application or the suite'),
  client_secret: text('The secret. It is shown only once'),
  others_end_at: time('When the other secrets end at the latest'),
})

type Rotation = { overlap_seconds?: number } | null

const ROTATE = {
  body: jsonSchema(
    object('Rotation', 'When the other secrets end', {
      overlap_seconds: whole(
        'How long the other secrets stay valid, in seconds; 0 ends them immediately. The default is one day',
      )
        .meta({ minimum: 0, maximum: MAX_OVERLAP, default: DEFAULT_OVERLAP })
        .optional(),
    }).nullable(),
  ),
  ...answer(ROTATED, 201),
}

export function secrets(route: AddRoute): void {
  for (const owners of ['applications', 'suites'] as const) {
    const path = `/${owners}/:owner/secrets`

    route('GET', path, LIST, async ({ [owners]: { show } }, { params }) => ({
      secrets: (await show(params.owner)).secrets.map(secretView),
    }))

    route<Rotation>('POST', path, ROTATE, async ({ [owners]: { show }, secrets }, request, reply) => {
      const { overlap_seconds: overlap = DEFAULT_OVERLAP } = request.body ?? {}
      const { owner } = request.params
      await show(owner)
      const rotated = await secrets.rotate(owner, overlap * 1000, repeatable(request, reply))
      return view(ROTATED, { clientId: owner, ...rotated })
    })

    route('DELETE', `${path}/:id`, REVOKE, async ({ [owners]: { show }, secrets }, { params, query }) => {
      await show(params.owner)
      const id = idOf(params.id)
      const force = choiceOf('force', ['true', 'false'], query) === 'true'
      await secrets.revoke(params.owner, id, { force }).catch(withForce)
    })
  }
}

/** Adds to the message how to revoke even the last active secret. */
function withForce(error: unknown): never {
  if (!(error instanceof OperatorError) || error.kind !== 'last secret') throw error
  throw new OperatorError(`${error.message} To revoke it anyway, use force=true.`, { kind: 'last secret' })
}
