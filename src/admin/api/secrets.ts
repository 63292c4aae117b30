import type { FastifyInstance } from 'fastify'
import { secretView, timestamp } from '../../administration/views.ts'
import { OperatorError } from '../../domain/operator-error.ts'
import type { AdminContext } from '../context.ts'
import { administrationOf } from '../wire/caller.ts'
import { idOf } from '../wire/routing.ts'
import { repeatable, sendCreated } from './created.ts'
import { flagOf, type Query } from './query.ts'
import { listOf, NUMBER, object, query, SECRET, TEXT, TIME } from './schemas.ts'

interface OwnedSecret {
  Params: { owner: string; id: string }
}

/** How long previous secrets stay valid after a rotation, in seconds: a day by default, a year at most. */
const DEFAULT_OVERLAP = 86_400
const MAX_OVERLAP = 365 * 86_400

const LIST = { response: { 200: object({ secrets: listOf(SECRET) }) } }

const ROTATE = {
  body: {
    ...object({ overlap_seconds: { ...NUMBER, minimum: 0, maximum: MAX_OVERLAP } }, { optional: ['overlap_seconds'] }),
    type: ['object', 'null'],
  },
  response: { 201: object({ client_id: TEXT, client_secret: TEXT, others_end_at: TIME }) },
}

/** /applications/{client_id}/secrets and /suites/{suite_id}/secrets. */
export function secrets(api: FastifyInstance, context: AdminContext): void {
  ofOwners('applications')
  ofOwners('suites')

  function ofOwners(owners: 'applications' | 'suites'): void {
    const path = `/${owners}/:owner/secrets`

    api.get<OwnedSecret>(path, { schema: LIST }, async (request) => {
      const {
        [owners]: { show },
      } = administrationOf(context, request)
      return { secrets: (await show(request.params.owner)).secrets.map(secretView) }
    })

    api.post<OwnedSecret & { Body: { overlap_seconds?: number } | null }>(
      path,
      { schema: ROTATE },
      async (request, reply) => {
        const {
          [owners]: { show },
          secrets,
        } = administrationOf(context, request)
        const { overlap_seconds: overlap = DEFAULT_OVERLAP } = request.body ?? {}
        const { owner } = request.params
        await show(owner)
        const rotated = await secrets.rotate(owner, overlap * 1000, repeatable(request, reply))
        const { clientSecret, othersEndAt } = rotated
        return sendCreated(reply, {
          client_id: owner,
          client_secret: clientSecret,
          others_end_at: timestamp(othersEndAt),
        })
      },
    )

    api.delete<OwnedSecret & { Querystring: Query }>(
      `${path}/:id`,
      { schema: { querystring: query('force') } },
      async (request, reply) => {
        const {
          [owners]: { show },
          secrets,
        } = administrationOf(context, request)
        const { owner, id } = request.params
        await show(owner)
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
