import type { FastifyReply, FastifyRequest } from 'fastify'

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
