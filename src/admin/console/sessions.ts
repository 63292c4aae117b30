import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { SignIn } from '../../administration/sign-in.ts'
import type { Session } from '../../domain/operator.ts'
import { assertAccess, isSafe } from '../wire/access.ts'
import { setCaller } from '../wire/caller.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Null: not signed in. */
    session: Session | null
  }
}

/**
 * Sets the caller from the session cookie before the body is read, and checks changes again afterwards: the session may have
 * ended while the body arrived. Access is decided by `limitAccess`.
 */
export function recognizeSessions(console: FastifyInstance, { findSession }: SignIn): void {
  async function recognize(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const reference = sessionReferenceIn(request)
    const { url = '' } = request.routeOptions
    // Assets are public, and live.ts finds the sessions of its pages.
    if (reference === undefined || url.startsWith('/assets/') || url === '/live') return
    const found = await findSession(reference)
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

/**
 * `__Host-` (RFC 6265bis §4.1.3.2): the browser sends the cookie to this host only, over TLS or to localhost. The attributes
 * hide it from scripts and from requests by other sites.
 */
const PREFIX = '__Host-session'
const ATTRIBUTES = 'Path=/; Secure; HttpOnly; SameSite=Strict'

/** The session reference in the cookie of a request. */
export function sessionReferenceIn(request: FastifyRequest): string | undefined {
  const [, reference] =
    new RegExp(`(?:^|;) *${nameFor(request)}=([A-Za-z0-9]+)`).exec(request.headers.cookie ?? '') ?? []
  return reference
}

/** Contains the port: cookies ignore ports, and each SSH tunnel to localhost may lead to another server. */
function nameFor({ headers: { host = '' } }: FastifyRequest): string {
  const [port = ''] = /:\d+$/.exec(host) ?? []
  return PREFIX + port.replace(':', '-')
}

/** Sets the session cookie, which the browser keeps until it closes. */
export function setSessionCookie(reply: FastifyReply, reference: string): void {
  setCookie(reply, `${nameFor(reply.request)}=${reference}; ${ATTRIBUTES}`)
}

/** Deletes the session cookie. */
export function clearSessionCookie(reply: FastifyReply): void {
  setCookie(reply, `${nameFor(reply.request)}=; ${ATTRIBUTES}; Max-Age=0`)
}

/** Replaces a cookie that was set earlier in the same answer: Fastify would send both. */
function setCookie(reply: FastifyReply, cookie: string): void {
  reply.removeHeader('set-cookie').header('set-cookie', cookie)
}
