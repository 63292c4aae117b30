import type { FastifyRequest } from 'fastify'
import { callerOf } from '../wire/caller.ts'
import { RefusedOperator } from '../wire/refused-operator.ts'

/** Whether the operator may make changes. */
export function canChange(request: FastifyRequest): boolean {
  return callerOf(request).operator.role === 'admin'
}

/** Throws RefusedOperator for viewers, on pages that only have a form. */
export function assertCanChange(request: FastifyRequest): void {
  if (!canChange(request)) throw new RefusedOperator('viewer')
}
