import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Administration, Conditions } from '../../administration/administration.ts'
import type { Author } from '../../domain/audit-event.ts'
import type { Operator } from '../../domain/operator.ts'
import { addressIn, addressVia, withoutZone } from '../../web/address.ts'
import type { AdminContext } from '../context.ts'
import { isProxied } from './host.ts'
import { ProblemError } from './problem.ts'

interface Caller {
  operator: Operator
  author: Author
  /** The admin key or session reference that the request was authenticated with. */
  credential: string
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The address that the request came from, with the proxy's (addressVia); `unix socket` for a peer on a Unix socket. */
    remoteAddress: string
    /** Null before authentication. */
    caller: Caller | null
  }
}

/** Adds the fields above to requests. The API and the console each authenticate in their own way, and call setCaller. */
export function decorateRequests(app: FastifyInstance, { adminUrl }: Pick<AdminContext, 'adminUrl'>): void {
  let isUnixSocket = false
  app.decorateRequest('remoteAddress', '')
  app.decorateRequest('caller', null)
  app.addHook('onRequest', (request, _reply, done) => {
    isUnixSocket ||= typeof app.server.address() === 'string'
    // Read now, because a closed connection no longer has an address.
    request.remoteAddress = remoteAddressOf(request, adminUrl, isUnixSocket)
    done()
  })
}

/**
 * The peer's address. If the request came through a proxy's address, the client's, according to trusted proxies, comes first.
 * Throws ProblemError if the connection is closed.
 */
function remoteAddressOf(request: FastifyRequest, adminUrl: string | undefined, isUnixSocket: boolean): string {
  const { remoteAddress = isUnixSocket ? 'unix socket' : undefined } = request.socket
  // Nobody is waiting for the answer, and a change could not be attributed.
  if (remoteAddress === undefined) throw new ProblemError('malformed', 'The connection is closed.')
  const peer = withoutZone(remoteAddress)
  if (!isProxied(request, adminUrl)) return peer
  // Only root and the server's user can open the socket, so its proxy is trusted: the last address is the one that it has added.
  const client = isUnixSocket ? String(request.headers['x-forwarded-for']).replace(/^.*,/, '').trim() : request.ip
  return addressVia(addressIn(client) ?? peer, peer)
}

/** Records the operator who sent a request, and the credential it was authenticated with. */
export function setCaller(
  request: FastifyRequest,
  { operator, origin, credential }: { operator: Operator; origin: 'API' | 'console'; credential: string },
): void {
  const { remoteAddress, id: requestId } = request
  request.caller = { operator, author: { actor: operator.name, origin, remoteAddress, requestId }, credential }
}

/** The caller. For routes that require authentication; throws Error elsewhere. */
export function callerOf({ caller }: FastifyRequest): Caller {
  if (!caller) throw new Error('The request is not authenticated.')
  return caller
}

export function administrationOf(
  context: AdminContext,
  request: FastifyRequest,
  conditions?: Conditions,
): Administration {
  return context.administration(callerOf(request).author, conditions)
}
