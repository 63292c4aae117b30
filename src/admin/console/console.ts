import formbody from '@fastify/formbody'
import type { FastifyInstance } from 'fastify'
import type { AdminContext } from '../context.ts'
import { watchRoutes } from '../wire/routing.ts'
import { createOriginCheck } from '../wire/same-origin.ts'

/** The console: pages and forms for people, who have logged in with a link. */
export async function adminConsole(console: FastifyInstance, context: AdminContext): Promise<void> {
  const refuseUnknown = watchRoutes(console)
  const assertSameOrigin = createOriginCheck(context)
  console.addHook('onRequest', (request, _reply, done) => {
    assertSameOrigin(request)
    done()
  })
  await console.register(formbody)
  console.setNotFoundHandler(refuseUnknown)
}
