import type { FastifyInstance, FastifyRequest } from 'fastify'
import { addressIn, withoutZone } from '../../domain/address.ts'
import type { Author } from '../../domain/audit-event.ts'
import type { Operator } from '../../domain/operator.ts'
import { ProblemError } from './problem.ts'

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
  let isUnixSocket = false
  app.server.once('listening', () => {
    isUnixSocket = typeof app.server.address() === 'string'
  })
  app.decorateRequest('remoteAddress', '')
  app.decorateRequest('caller', null)
  app.addHook('onRequest', (request, _reply, done) => {
    // At once: of a connection that is closed nobody knows.
    request.remoteAddress = isUnixSocket ? UNIX_SOCKET : remoteAddressOf(request)
    done()
  })
}

/** The address that trusted proxies say, or the other side's. Throws ProblemError where the other side is gone. */
function remoteAddressOf(request: FastifyRequest): string {
  const { remoteAddress } = request.socket
  // Reset before it was read: nobody waits for the answer, and nobody could say who made the change.
  if (remoteAddress === undefined) throw new ProblemError({ status: 400, detail: 'The connection is closed.' })
  return addressIn(request.ip) ?? withoutZone(remoteAddress)
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
