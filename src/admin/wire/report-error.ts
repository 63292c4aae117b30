import type { FastifyRequest } from 'fastify'
import type { Observer } from '../../domain/events.ts'
import { StoreUnavailable } from '../../domain/store.ts'
import { type Problem, problemOf } from './problem.ts'
import { RefusedOperator } from './refused-operator.ts'

/**
 * Returns the answer to an error. Reports refused operators and failures (5xx) as events. The error handlers of API and console
 * call this.
 */
export function reportError(observe: Observer, error: unknown, request: FastifyRequest): Problem {
  const problem = problemOf(error)
  const { id: requestId, method, remoteAddress, caller } = request
  if (error instanceof RefusedOperator) {
    observe({
      type: 'operator refused',
      reason: error.reason,
      operator: error.key.operator ?? caller?.operator.name,
      keyId: error.key.keyId,
      requestId,
      remoteAddress,
    })
  } else if (problem.status >= 500) {
    const { status } = problem
    const reason = error instanceof StoreUnavailable ? 'store unavailable' : 'unexpected error'
    const endpoint = request.routeOptions.url
    observe({ type: 'request failed', reason, err: error, status, method, endpoint, requestId, remoteAddress })
  }
  return problem
}
