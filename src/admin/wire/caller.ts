import type { FastifyInstance, FastifyRequest } from 'fastify'
import { addressIn, withoutZone } from '../../domain/address.ts'
import type { Author } from '../../domain/audit-event.ts'
import type { Operator } from '../../domain/operator.ts'

/** Who sent a request. */
export interface Caller {
  operator: Operator
  /** Who is said to have made the changes. */
  author: Author
  /** What the caller proved it with: an admin key, or the reference of a session. */
  credential: string
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Where the request came from: an address, or `unix socket`. */
    remoteAddress: string
    /** Null: nobody is known. */
    caller: Caller | null
  }
}

/** What the other side is called where it has no address. */
const UNIX_SOCKET = 'unix socket'

/** Gives requests the fields above. Who the caller is, each half of the listener finds out in its own way. */
export function describeCallers(app: FastifyInstance): void {
  app.decorateRequest('remoteAddress', '')
  app.decorateRequest('caller', null)
  app.addHook('onRequest', (request, _reply, done) => {
    // At once: of a connection that is closed nobody knows.
    request.remoteAddress = remoteAddressOf(request)
    done()
  })
}

/** The address that trusted proxies say, or the other side's. */
function remoteAddressOf(request: FastifyRequest): string {
  const { remoteAddress } = request.socket
  return remoteAddress === undefined ? UNIX_SOCKET : (addressIn(request.ip) ?? withoutZone(remoteAddress))
}

/** Notes who sent a request. `credential`: what proved it. */
export function setCaller(
  request: FastifyRequest,
  { operator, origin, credential }: { operator: Operator; origin: 'API' | 'console'; credential: string },
): void {
  const { remoteAddress, id: requestId } = request
  request.caller = { operator, author: { actor: operator.name, origin, remoteAddress, requestId }, credential }
}

/** Who sent this request: to be called by routes that only those reach who are known. */
export function callerOf({ caller }: FastifyRequest): Caller {
  if (!caller) throw new Error('Nobody is known to have sent this request.')
  return caller
}
