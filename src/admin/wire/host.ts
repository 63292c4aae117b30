import type { TLSSocket } from 'node:tls'
import type { FastifyRequest } from 'fastify'
import { hostInUrl, withoutZone } from '../../web/address.ts'
import type { AdminContext } from '../context.ts'
import { isSafe } from './access.ts'
import { RefusedOperator } from './problem.ts'

/** Names of this machine. Any port is allowed, because it may be that of a tunnel (ssh -L). */
const LOCAL_NAMES = ['localhost', '127.0.0.1', '[::1]']

/** A Host header (RFC 9110 §7.2): a name, an IPv4 address or an IPv6 address in brackets, with an optional port. */
const HOST = /^(\[[\da-f:.]+\]|[^\s:[\]@/?#]+)(?::\d*)?$/i

/** The scheme and host of a request target in absolute form (RFC 9112 §3.2.2). */
const ABSOLUTE_FORM = /^https?:\/\/([^/?#]*)/i

/**
 * Returns a check that throws RefusedOperator unless the request names this listener as its host. Prevents DNS rebinding: the
 * page of an attacker whose domain resolves to this address is same-origin to the browser, but has another Host. Requests with
 * two Host headers never get here.
 */
export function createHostCheck({ adminUrl, boundHost }: Pick<AdminContext, 'adminUrl' | 'boundHost'>) {
  // As browsers send it: an IPv6 address in its shortest form (RFC 5952).
  const bound = URL.parse(`http://${hostInUrl(withoutZone(boundHost ?? ''))}`)?.hostname ?? boundHost
  const names = [...LOCAL_NAMES, bound]
  const proxied = adminUrl && new URL(adminUrl).host

  return function assertHost({ originalUrl, headers }: FastifyRequest): void {
    const hosts = [headers.host ?? '', ...(ABSOLUTE_FORM.exec(originalUrl)?.slice(1) ?? [])]
    const isKnown = (host: string) => names.includes(nameIn(host)) || host.toLowerCase() === proxied
    if (!hosts.every(isKnown)) throw new RefusedOperator('another host')
  }
}

/** Whether this listener itself speaks TLS with the client. */
export function isEncrypted({ socket }: FastifyRequest): boolean {
  return (socket as TLSSocket).encrypted === true
}

/** Whether a request names the host of ADMIN_URL, and not this machine, as through a tunnel. */
export function isProxied({ headers }: FastifyRequest, adminUrl: string | undefined): boolean {
  return adminUrl !== undefined && headers.host?.toLowerCase() === new URL(adminUrl).host
}

/** The host without its port; empty if malformed. */
function nameIn(host: string): string {
  return HOST.exec(host.toLowerCase())?.[1] ?? ''
}

/**
 * Returns a check that throws RefusedOperator for a change from a page of another site (CSRF). Without Sec-Fetch-Site (Fetch
 * Metadata) the Origin must be that of this listener. Plain HTTP is accepted for local names only: otherwise anyone on the
 * network could forge the page.
 */
export function createOriginCheck({ adminUrl }: Pick<AdminContext, 'adminUrl'>) {
  const proxied = adminUrl && new URL(adminUrl).host

  return function assertSameOrigin(request: FastifyRequest): void {
    const { method, headers } = request
    if (isSafe(method)) return
    const scheme = isEncrypted(request) ? 'https' : 'http'
    const { 'sec-fetch-site': site, origin = 'null', host = '' } = headers
    const isLocal = LOCAL_NAMES.includes(nameIn(host)) && host !== proxied
    const isOwn = origin === adminUrl || (isLocal && origin === `${scheme}://${host}`)
    if (site === undefined ? !isOwn : site !== 'same-origin') throw new RefusedOperator('another site')
  }
}
