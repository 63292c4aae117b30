import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { SignIn } from '../../administration/sign-in.ts'
import { isSafe } from '../wire/access.ts'
import { setCaller } from '../wire/caller.ts'
import { RefusedOperator } from '../wire/problem.ts'

const BEARER = /^bearer +(\S+) *$/i

/**
 * Requires an admin key (RFC 6750 §2.1) before the body is read. Requests that make changes are checked again afterwards: the
 * operator may have been removed while the body arrived.
 */
export function authenticateKeys(api: FastifyInstance, { authenticate }: SignIn): void {
  async function identify(request: FastifyRequest): Promise<void> {
    const adminKey = adminKeyOf(request)
    const signedIn = await authenticate(adminKey)
    if ('reason' in signedIn) throw new RefusedOperator(signedIn.reason, signedIn)
    setCaller(request, { operator: signedIn.operator, origin: 'API', credential: adminKey })
  }

  api.addHook('onRequest', identify)
  api.addHook('preHandler', async (request) => {
    if (!isSafe(request.method)) await identify(request)
  })
}

function adminKeyOf({ headers: { authorization } }: FastifyRequest): string {
  if (authorization === undefined) throw new RefusedOperator('no credentials')
  const [, adminKey] = BEARER.exec(authorization) ?? []
  if (adminKey === undefined) throw new RefusedOperator('malformed key')
  return adminKey
}
