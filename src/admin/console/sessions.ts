import type { FastifyInstance } from 'fastify'
import type { SignIn } from '../../administration/sign-in.ts'
import type { Session } from '../../domain/operator.ts'
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

/** Finds out who is signed in, before the body is read. Whether that is enough is decided later: see `limitAccess`. */
export function recognizeSessions(console: FastifyInstance, { findSession }: SignIn): void {
  console.decorateRequest('session', null)
  console.addHook('onRequest', async (request, reply) => {
    const reference = referenceIn(request)
    const { url = '' } = request.routeOptions
    if (reference === undefined || url.startsWith('/assets/')) return
    const found = await findSession(reference, { touch: !BY_ITSELF.includes(url) })
    if (!found) return forgetReference(reply)
    request.session = found.session
    setCaller(request, { operator: found.operator, origin: 'console', credential: reference })
  })
}
