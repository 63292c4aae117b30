import type { FastifyInstance, FastifyRequest } from 'fastify'
import { RefusedOperator } from './problem.ts'

/**
 * Routes with their own rule. Everywhere else any operator may read, and only an admin may make changes.
 */
export const EXCEPTIONS: Record<string, 'anyone' | 'any operator'> = {
  'GET /login': 'anyone',
  'HEAD /login': 'anyone',
  'POST /login': 'anyone',
  'GET /assets/*': 'anyone',
  'HEAD /assets/*': 'anyone',
  'GET /signed-in': 'anyone',
  'HEAD /signed-in': 'anyone',
  'POST /logout': 'anyone',
  'POST /operators/:name/sessions/:id/end': 'any operator',
}

/** Whether a method is safe (RFC 9110 §9.2.1). */
export function isSafe(method: string): boolean {
  return method === 'GET' || method === 'HEAD'
}

function isOpen({ method, routeOptions }: FastifyRequest): boolean {
  return EXCEPTIONS[`${method} ${routeOptions.url}`] === 'anyone'
}

/** Checks access before the body is read. API and console have set the caller in `onRequest`. */
export function limitAccess(app: FastifyInstance): void {
  app.addHook('preParsing', (request, _reply, _payload, done) => {
    assertAccess(request)
    done()
  })
}

/** Throws RefusedOperator if the caller may not do this. */
export function assertAccess(request: FastifyRequest): void {
  const { method, routeOptions, caller } = request
  if (isOpen(request)) return
  if (!caller) throw new RefusedOperator('no credentials')
  if (isSafe(method) || caller.operator.role === 'admin') return
  if (EXCEPTIONS[`${method} ${routeOptions.url}`] !== 'any operator') throw new RefusedOperator('viewer')
}
