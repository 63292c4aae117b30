import type { FastifyRequest } from 'fastify'
import { isSafe } from './access.ts'
import { RefusedOperator } from './refused-operator.ts'

/**
 * Refuses a change that another site's page asks for (CSRF). Browsers say whose page it is (Fetch Metadata, Sec-Fetch-Site);
 * where one does not, its Origin must be this listener's.
 */
export function createOriginCheck({ adminUrl }: { adminUrl: string | undefined }) {
  return function assertSameOrigin({ method, headers }: FastifyRequest): void {
    if (isSafe(method)) return
    const { 'sec-fetch-site': site, origin = 'null', host } = headers
    if (site !== undefined ? site === 'same-origin' : origin === adminUrl || origin === `http://${host}`) return
    throw new RefusedOperator('another site')
  }
}
