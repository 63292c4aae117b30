import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { SignIn } from '../../administration/sign-in.ts'
import { setCaller } from '../wire/caller.ts'
import { RefusedOperator } from '../wire/refused-operator.ts'

const BEARER = /^bearer +(\S+) *$/i

/** Asks every request for an admin key, RFC 6750 §2.1, before its body is read. */
export function authenticateKeys(api: FastifyInstance, { authenticate }: SignIn): void {
  api.addHook('onRequest', async (request) => {
    const adminKey = adminKeyOf(request)
    const signedIn = await authenticate(adminKey)
    if (typeof signedIn === 'string') throw new RefusedOperator(signedIn)
    setCaller(request, { operator: signedIn.operator, origin: 'API', credential: adminKey })
  })
}

function adminKeyOf({ headers: { authorization } }: FastifyRequest): string {
  if (authorization === undefined) throw new RefusedOperator('no credentials')
  const [, adminKey] = BEARER.exec(authorization) ?? []
  if (adminKey === undefined) throw new RefusedOperator('malformed key')
  return adminKey
}
