import type { FastifyReply, FastifyRequest } from 'fastify'

/**
 * A browser sends it back to this very host only, by TLS (or to localhost), to no other site's page, and shows it to no
 * script: RFC 6265bis §4.1.3.2, `__Host-`.
 */
const PREFIX = '__Host-session'
const ATTRIBUTES = 'Path=/; Secure; HttpOnly; SameSite=Strict'

/** The reference of a session that a browser sent. */
export function referenceIn(request: FastifyRequest): string | undefined {
  const [, reference] =
    new RegExp(`(?:^|;) *${nameFor(request)}=([A-Za-z0-9]+)`).exec(request.headers.cookie ?? '') ?? []
  return reference
}

/** With the port: cookies are for a host whatever its ports, and each tunnel to localhost may lead to another server. */
function nameFor({ headers: { host = '' } }: FastifyRequest): string {
  const [port = ''] = /:\d+$/.exec(host) ?? []
  return PREFIX + port.replace(':', '-')
}

/** Lets the browser keep the reference of a session until the browser ends. */
export function keepReference(reply: FastifyReply, reference: string): void {
  setCookie(reply, `${nameFor(reply.request)}=${reference}; ${ATTRIBUTES}`)
}

/** Lets the browser forget the reference of a session. */
export function forgetReference(reply: FastifyReply): void {
  setCookie(reply, `${nameFor(reply.request)}=; ${ATTRIBUTES}; Max-Age=0`)
}

/** Fastify would add it to what was set before. */
function setCookie(reply: FastifyReply, cookie: string): void {
  reply.removeHeader('set-cookie').header('set-cookie', cookie)
}
