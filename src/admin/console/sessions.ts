import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { SignIn } from '../../administration/sign-in.ts'
import type { Session } from '../../domain/operator.ts'
import { assertAccess, isSafe } from '../wire/access.ts'
import { setCaller } from '../wire/caller.ts'
import { forgetReference, referenceIn } from './cookie.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Null: nobody is signed in. */
    session: Session | null
  }
}

/** Routes that a page asks by itself: nobody is there for that reason. */
const BY_ITSELF = ['/live']

/**
 * Finds out who is signed in, before the body is read, and of who changes something once more. Whether that is enough is
 * decided later: see `limitAccess`.
 */
export function recognizeSessions(console: FastifyInstance, { findSession }: SignIn): void {
  async function recognize(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const reference = referenceIn(request)
    const { url = '' } = request.routeOptions
    if (reference === undefined || url.startsWith('/assets/')) return
    const found = await findSession(reference, { touch: !BY_ITSELF.includes(url) })
    request.session = found?.session ?? null
    if (found) setCaller(request, { operator: found.operator, origin: 'console', credential: reference })
    else {
      request.caller = null
      forgetReference(reply)
    }
  }

  console.decorateRequest('session', null)
  console.addHook('onRequest', recognize)
  // The body may have taken seconds, in which the session was ended.
  console.addHook('preHandler', async (request, reply) => {
    if (isSafe(request.method)) return
    await recognize(request, reply)
    assertAccess(request)
  })
}
