import type { FastifyInstance, FastifyRequest } from 'fastify'
import { RefusedOperator } from './problem.ts'

/** Routes with their own rule (GET includes HEAD). On all others any operator may read, and only an admin may change anything. */
export const EXCEPTIONS: Record<string, 'anyone' | 'any operator'> = {
  'GET /login': 'anyone',
  'POST /login': 'anyone',
  'GET /login/provider': 'anyone',
  'GET /login/callback': 'anyone',
  'GET /login/complete': 'anyone',
  'GET /assets/*': 'anyone',
  'GET /signed-in': 'anyone',
  'POST /logout': 'anyone',
  'POST /preferences': 'any operator',
  'POST /operators/:name/sessions/:id/end': 'any operator',
}

/** Whether a method is safe (RFC 9110 §9.2.1). */
export function isSafe(method: string): boolean {
  return method === 'GET' || method === 'HEAD'
}

/** Checks access before the body is read. The API and the console have already set the caller, in `onRequest`. */
export function limitAccess(app: FastifyInstance): void {
  app.addHook('preParsing', (request, _reply, _payload, done) => {
    assertAccess(request)
    done()
  })
}

/** Throws RefusedOperator if the caller may not use the route. */
export function assertAccess(request: FastifyRequest): void {
  const { method, routeOptions, caller } = request
  const exception = EXCEPTIONS[`${method === 'HEAD' ? 'GET' : method} ${routeOptions.url}`]
  if (exception === 'anyone') return
  if (!caller) throw new RefusedOperator('no credentials')
  if (isSafe(method) || caller.operator.role === 'admin') return
  if (exception !== 'any operator') throw new RefusedOperator('viewer')
}
