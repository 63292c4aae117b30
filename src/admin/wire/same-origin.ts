import type { FastifyRequest } from 'fastify'
import { isSafe } from './access.ts'
import { isLocal } from './host.ts'
import { RefusedOperator } from './problem.ts'

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
