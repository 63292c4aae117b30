import type { FastifyInstance } from 'fastify'
import { secretView } from '../../administration/views.ts'
import { OperatorError } from '../../domain/operator-error.ts'
import { jsonSchema, list, object, text, time, view, whole } from '../../domain/schema.ts'
import { SECRET } from '../../domain/secret.ts'
import type { AdminContext } from '../context.ts'
import { administrationOf } from '../wire/caller.ts'
import { idOf } from '../wire/routing.ts'
import { repeatable, sendCreated } from './changes.ts'
import { flagOf, type Query } from './query.ts'
import { answer, query } from './schemas.ts'

interface OwnedSecret {
  Params: { owner: string; id: string }
}

/** How long previous secrets stay valid after a rotation, in seconds: a day by default, a year at most. */
const DEFAULT_OVERLAP = 86_400
const MAX_OVERLAP = 365 * 86_400

const LIST = answer(
  object('Secrets', 'All secrets of one application or suite', { secrets: list('The oldest first', SECRET) }),
)

const ROTATED = object('RotatedSecret', 'A new secret', {
  client_id: text('The application or the suite'),
  client_secret: text('The secret. It is shown only once'),
  others_end_at: time('When the other secrets end at the latest'),
})

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

/** /applications/{client_id}/secrets and /suites/{suite_id}/secrets. */
export function secrets(api: FastifyInstance, context: AdminContext): void {
  ofOwners('applications')
  ofOwners('suites')

  function ofOwners(owners: 'applications' | 'suites'): void {
    const path = `/${owners}/:owner/secrets`

    api.get<OwnedSecret>(path, { schema: LIST }, async (request) => {
      const { show } = administrationOf(context, request)[owners]
      return { secrets: (await show(request.params.owner)).secrets.map(secretView) }
    })

    api.post<OwnedSecret & { Body: { overlap_seconds?: number } | null }>(
      path,
      { schema: ROTATE },
      async (request, reply) => {
        const { [owners]: all, secrets } = administrationOf(context, request)
        const { overlap_seconds: overlap = DEFAULT_OVERLAP } = request.body ?? {}
        const { owner } = request.params
        await all.show(owner)
        const rotated = await secrets.rotate(owner, overlap * 1000, repeatable(request, reply))
        return sendCreated(reply, view(ROTATED, { clientId: owner, ...rotated }))
      },
    )

    api.delete<OwnedSecret & { Querystring: Query }>(
      `${path}/:id`,
      { schema: { querystring: query('force') } },
      async (request, reply) => {
        const { [owners]: all, secrets } = administrationOf(context, request)
        const { owner, id } = request.params
        await all.show(owner)
        await secrets.revoke(owner, idOf(id), { force: flagOf('force', request.query) }).catch(withForce)
        return reply.code(204).send()
      },
    )
  }
}

/** Adds to a conflict error which parameter overrides it. */
function withForce(error: unknown): never {
  if (!(error instanceof OperatorError) || error.kind !== 'conflict') throw error
  throw new OperatorError(`${error.message} The query parameter for that is force=true.`, { kind: 'conflict' })
}
