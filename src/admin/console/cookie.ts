import type { FastifyReply, FastifyRequest } from 'fastify'

/**
 * A browser sends it back to this very host only, by TLS (or to localhost), to no other site's page, and shows it to no
 * script: RFC 6265bis §4.1.3.2, `__Host-`.
 */
const NAME = '__Host-session'
const ATTRIBUTES = 'Path=/; Secure; HttpOnly; SameSite=Strict'

const COOKIE = new RegExp(`(?:^|;) *${NAME}=([A-Za-z0-9]+)`)

/** The reference of a session that a browser sent. */
export function referenceIn({ headers: { cookie = '' } }: FastifyRequest): string | undefined {
  return COOKIE.exec(cookie)?.[1]
}

/** Lets the browser keep the reference of a session until the browser ends. */
export function keepReference(reply: FastifyReply, reference: string): void {
  setCookie(reply, `${NAME}=${reference}; ${ATTRIBUTES}`)
}

/** Lets the browser forget the reference of a session. */
export function forgetReference(reply: FastifyReply): void {
  setCookie(reply, `${NAME}=; ${ATTRIBUTES}; Max-Age=0`)
}

/** Fastify would add it to what was set before. */
function setCookie(reply: FastifyReply, cookie: string): void {
  reply.removeHeader('set-cookie').header('set-cookie', cookie)
}
