import type { FastifyInstance, FastifyRequest } from 'fastify'
import { RefusedOperator } from './refused-operator.ts'

/**
 * The routes that are open to more than the others are. All others: whoever is signed in may look, and only an admin may
 * change anything.
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

/** Whether a method changes nothing, RFC 9110 §9.2.1. */
export function isSafe(method: string): boolean {
  return method === 'GET' || method === 'HEAD'
}

/** Whether a request is for a route that asks for no authentication. */
function isOpen({ method, routeOptions }: FastifyRequest): boolean {
  return EXCEPTIONS[`${method} ${routeOptions.url}`] === 'anyone'
}

/** Refuses, before the body is read, what the caller may not do. Each half has found out by then who that is. */
export function limitAccess(app: FastifyInstance): void {
  app.addHook('preParsing', (request, _reply, _payload, done) => {
    assertAccess(request)
    done()
  })
}

/** Throws RefusedOperator where this caller may not do this. */
export function assertAccess(request: FastifyRequest): void {
  const { method, routeOptions, caller } = request
  if (isOpen(request)) return
  if (!caller) throw new RefusedOperator('no credentials')
  if (isSafe(method) || caller.operator.role === 'admin') return
  if (EXCEPTIONS[`${method} ${routeOptions.url}`] !== 'any operator') throw new RefusedOperator('viewer')
}
