import type { FastifyRequest } from 'fastify'
import { callerOf } from '../wire/caller.ts'
import { RefusedOperator } from '../wire/refused-operator.ts'

/** Whether who looks at a page may change what is on it. */
export function canChange(request: FastifyRequest): boolean {
  return callerOf(request).operator.role === 'admin'
}

/** Refuses a page that has nothing but a form for a change. */
export function assertCanChange(request: FastifyRequest): void {
  if (!canChange(request)) throw new RefusedOperator('viewer')
}
