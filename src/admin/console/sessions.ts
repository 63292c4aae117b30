import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { SignIn } from '../../administration/sign-in.ts'
import type { Session } from '../../domain/operator.ts'
import { assertAccess, isSafe } from '../wire/access.ts'
import { setCaller } from '../wire/caller.ts'
import { clearSessionCookie, sessionReferenceIn } from './cookie.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Null: not signed in. */
    session: Session | null
  }
}

/** Routes that pages request by themselves. They do not count as activity of the operator. */
const BACKGROUND_ROUTES = ['/live']

/**
 * Sets the caller from the session cookie before the body is read, and checks changes again afterwards: the session may have
 * ended while the body arrived. Access is decided by `limitAccess`.
 */
export function recognizeSessions(console: FastifyInstance, { findSession }: SignIn): void {
  async function recognize(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const reference = sessionReferenceIn(request)
    const { url = '' } = request.routeOptions
    if (reference === undefined || url.startsWith('/assets/')) return
    const found = await findSession(reference, { touch: !BACKGROUND_ROUTES.includes(url) })
    request.session = found?.session ?? null
    if (found) setCaller(request, { operator: found.operator, origin: 'console', credential: reference })
    else {
      request.caller = null
      clearSessionCookie(reply)
    }
  }

  console.decorateRequest('session', null)
  console.addHook('onRequest', recognize)
  console.addHook('preHandler', async (request, reply) => {
    if (isSafe(request.method)) return
    await recognize(request, reply)
    assertAccess(request)
  })
}
