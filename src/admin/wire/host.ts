import type { IncomingMessage } from 'node:http'
import type { FastifyRequest } from 'fastify'
import { hostInUrl, withoutZone } from '../../domain/address.ts'
import { RefusedOperator } from './refused-operator.ts'

/** The names that lead to this machine wherever they are looked up. The port may be a tunnel's: ssh -L. */
const LOCAL_NAMES = ['localhost', '127.0.0.1', '[::1]']

/** A Host header, RFC 9110 §7.2: a name, an IPv4 address, or an IPv6 address in brackets; and a port. */
const HOST = /^(\[[\da-f:.]+\]|[^\s:[\]@/?#]+)(?::\d*)?$/i

/** What a client may send of the whole address in the place of a path, RFC 9112 §3.2.2. */
const ABSOLUTE_FORM = /^https?:\/\/([^/?#]*)/i

/** Whether a Host header has one of the names that lead to this machine. */
export function isLocal(host: string): boolean {
  return LOCAL_NAMES.includes(nameIn(host))
}

/**
 * Refuses a request for any other host than this listener's names: the page of a stranger whose name was made to lead here
 * (DNS rebinding) is the same site to the browser, but not to this check.
 */
export function createHostCheck({
  adminUrl,
  boundHost,
}: {
  adminUrl: string | undefined
  boundHost: string | undefined
}) {
  const names = new Set([...LOCAL_NAMES, ...(boundHost === undefined ? [] : [inShort(boundHost)])])
  const proxied = adminUrl && new URL(adminUrl).host

  return function assertHost({ originalUrl, headers, raw }: FastifyRequest): void {
    const hosts = [headers.host ?? '', ...(ABSOLUTE_FORM.exec(originalUrl)?.slice(1) ?? [])]
    const isKnown = (host: string) => names.has(nameIn(host)) || host.toLowerCase() === proxied
    if (!hosts.every(isKnown) || hasSecondHost(raw)) throw new RefusedOperator('another host')
  }
}

/** As browsers write it: an IPv6 address in its shortest form, RFC 5952. */
function inShort(host: string): string {
  return URL.parse(`http://${hostInUrl(withoutZone(host))}`)?.hostname ?? host
}

/** Node.js takes the first one, a proxy perhaps the last: RFC 9112 §3.2. */
function hasSecondHost({ rawHeaders }: IncomingMessage): boolean {
  return rawHeaders.filter((text, at) => at % 2 === 0 && text.toLowerCase() === 'host').length > 1
}

/** Without the port; empty: it is no host. */
function nameIn(host: string): string {
  return HOST.exec(host.toLowerCase())?.[1] ?? ''
}

/** The target as a path and a query. */
export function originForm(target: string): string {
  return target.replace(ABSOLUTE_FORM, '')
}
