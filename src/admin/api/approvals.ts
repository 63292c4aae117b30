import type { FastifyInstance } from 'fastify'
import type { AdminContext } from '../context.ts'
import { administrationOf } from '../wire/administration.ts'

interface OneApproval {
  Params: { client_id: string; suite_id: string }
}

const PATH = '/applications/:client_id/suites/:suite_id'

/** /applications/{client_id}/suites: the suites that an application is approved for. */
export function approvals(api: FastifyInstance, context: AdminContext): void {
  api.put<OneApproval>(PATH, async (request, reply) => {
    const { applications } = administrationOf(context, request)
    await applications.approve(request.params.client_id, request.params.suite_id)
    return reply.code(204).send()
  })

  api.delete<OneApproval>(PATH, async (request, reply) => {
    const { applications } = administrationOf(context, request)
    await applications.withdraw(request.params.client_id, request.params.suite_id)
    return reply.code(204).send()
  })
}
