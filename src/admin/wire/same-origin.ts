import type { FastifyRequest } from 'fastify'
import { isSafe } from './access.ts'
import { isLocal } from './host.ts'
import { RefusedOperator } from './refused-operator.ts'

/**
 * Refuses a change that another site's page asks for (CSRF). Browsers say whose page it is (Fetch Metadata, Sec-Fetch-Site);
 * where one does not, its Origin must be this listener's. Without TLS only a local name counts: anybody on the network could
 * replace a page of another one.
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
