import type { FastifyRequest } from 'fastify'
import { hostInUrl } from '../../domain/address.ts'
import { RefusedOperator } from './refused-operator.ts'

/** The names that lead to this machine wherever they are looked up. The port may be a tunnel's: ssh -L. */
const LOCAL_NAMES = ['localhost', '127.0.0.1', '[::1]']

/** A Host header, RFC 9110 §7.2: a name, an IPv4 address, or an IPv6 address in brackets; and a port. */
const HOST = /^(\[[\da-f:.]+\]|[^\s:[\]@/?#]+)(?::\d*)?$/i

/** What a client may send of the whole address in the place of a path, RFC 9112 §3.2.2. */
const ABSOLUTE_FORM = /^https?:\/\/([^/?#]*)/i

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
  const names = new Set([...LOCAL_NAMES, ...(boundHost === undefined ? [] : [hostInUrl(boundHost).toLowerCase()])])
  const proxied = adminUrl && new URL(adminUrl).host

  return function assertHost({ originalUrl, headers }: FastifyRequest): void {
    const hosts = [headers.host ?? '', ...(ABSOLUTE_FORM.exec(originalUrl)?.slice(1) ?? [])]
    for (const host of hosts) {
      const [, name] = HOST.exec(host.toLowerCase()) ?? []
      if (name === undefined || (!names.has(name) && host.toLowerCase() !== proxied)) {
        throw new RefusedOperator('another host')
      }
    }
  }
}

/** The target as a path and a query. */
export function originForm(target: string): string {
  return target.replace(ABSOLUTE_FORM, '')
}
