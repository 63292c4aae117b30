import type { FastifyRequest } from 'fastify'
import type { Administration } from '../../administration/administration.ts'
import type { AdminContext } from '../context.ts'
import { callerOf } from './caller.ts'

/** The administration on behalf of the operator who sent the request. */
export function administrationOf(context: AdminContext, request: FastifyRequest): Administration {
  return context.administration(callerOf(request).author)
}
