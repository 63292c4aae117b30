import type { FastifyRequest } from 'fastify'
import { hostInUrl, withoutZone } from '../../domain/address.ts'
import { isSafe } from './access.ts'
import { RefusedOperator } from './problem.ts'

/** Names that always mean this machine. Any port is allowed, because it may be that of a tunnel (ssh -L). */
const LOCAL_NAMES = ['localhost', '127.0.0.1', '[::1]']

/** A Host header (RFC 9110 §7.2): a name, an IPv4 address or an IPv6 address in brackets, with an optional port. */
const HOST = /^(\[[\da-f:.]+\]|[^\s:[\]@/?#]+)(?::\d*)?$/i

/** The scheme and host of a request target in absolute form (RFC 9112 §3.2.2). */
const ABSOLUTE_FORM = /^https?:\/\/([^/?#]*)/i

/** Whether a Host header names this machine. */
function isLocal(host: string): boolean {
  return LOCAL_NAMES.includes(nameIn(host))
}

/**
 * Returns a check that throws RefusedOperator unless the request names this listener as its host. Prevents DNS rebinding: the
 * page of an attacker whose domain resolves to this address is same-origin to the browser, but has another Host. The listener has
 * refused a second Host header before.
 */
export function createHostCheck({
  adminUrl,
  boundHost,
}: {
  adminUrl: string | undefined
  boundHost: string | undefined
}) {
  const names = new Set([...LOCAL_NAMES, ...(boundHost === undefined ? [] : [normalizedHost(boundHost)])])
  const proxied = adminUrl && new URL(adminUrl).host

  return function assertHost({ originalUrl, headers }: FastifyRequest): void {
    const hosts = [headers.host ?? '', ...(ABSOLUTE_FORM.exec(originalUrl)?.slice(1) ?? [])]
    const isKnown = (host: string) => names.has(nameIn(host)) || host.toLowerCase() === proxied
    if (!hosts.every(isKnown)) throw new RefusedOperator('another host')
  }
}

/** The host as browsers send it: an IPv6 address in its shortest form (RFC 5952). */
function normalizedHost(host: string): string {
  return URL.parse(`http://${hostInUrl(withoutZone(host))}`)?.hostname ?? host
}

/** The host without its port; empty if malformed. */
function nameIn(host: string): string {
  return HOST.exec(host.toLowerCase())?.[1] ?? ''
}

/**
 * Returns a check that throws RefusedOperator for a change from a page of another site (CSRF). Without Sec-Fetch-Site (Fetch
 * Metadata) the Origin must be that of this listener. Plain HTTP counts for local names only, because anyone on the network
 * could forge a page of another name.
 */
export function createOriginCheck({ adminUrl }: { adminUrl: string | undefined }) {
  const proxied = adminUrl && new URL(adminUrl).host

  return function assertSameOrigin({ method, headers }: FastifyRequest): void {
    if (isSafe(method)) return
    const { 'sec-fetch-site': site, origin = 'null', host = '' } = headers
    const isOwn = origin === adminUrl || (isLocal(host) && host !== proxied && origin === `http://${host}`)
    if (site !== undefined ? site === 'same-origin' : isOwn) return
    throw new RefusedOperator('another site')
  }
}
