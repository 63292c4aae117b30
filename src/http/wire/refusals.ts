import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import { Refusal, type RefusalCode, type RefusalLog } from '../../domain/refusal.ts'
import { StoreUnavailable } from '../../domain/store.ts'

/** The status of each error code, RFC 6749 §5.2, RFC 6750 §3.1 and RFC 9110 §15. */
const STATUS: Record<RefusalCode, number> = {
  invalid_request: 400,
  unsupported_grant_type: 400,
  invalid_client: 401,
  invalid_token: 401,
  insufficient_scope: 403,
  server_error: 500,
  temporarily_unavailable: 503,
}

/** The headers that keep an answer out of every cache, RFC 6749 §5.1. */
export const NO_STORE = { 'cache-control': 'no-store', pragma: 'no-cache' }

export const JSON_TYPE = 'application/json; charset=utf-8'

const RETRY_AFTER_SECONDS = '5'

interface HttpDetails {
  code?: RefusalCode
  headers?: Record<string, string>
  /** Whether the caller is told the headers only. */
  bare?: boolean
  log?: RefusalLog
}

/** A refusal with more of HTTP in it: a status that is not the code's own, headers. */
export class HttpRefusal extends Refusal {
  readonly status: number
  readonly headers: Record<string, string>
  readonly bare: boolean

  constructor(status: number, description: string, details: HttpDetails = {}) {
    super(details.code ?? 'invalid_request', description, details.log)
    this.status = status
    this.headers = details.headers ?? {}
    this.bare = details.bare ?? false
  }
}

/**
 * The one error handler: whatever is thrown on the way leaves as a refusal of RFC 6749 §5.2, and as one log line. Returns
 * nothing: for a reply Fastify would wait until it is sent, with 10 % of the CPU of a refusal, and sometimes with garbage
 * that only the collector of old objects takes away, for as long as refusals go on.
 */
export function refuse(log: Logger, error: unknown, request: FastifyRequest, reply: FastifyReply): void {
  const refusal = toRefusal(error)
  const status = refusal instanceof HttpRefusal ? refusal.status : STATUS[refusal.code]

  const line = { ...refusal.log, status, endpoint: request.routeOptions.url, remote_address: request.ip }
  if (status >= 500) log.error(line, 'request failed')
  else if (refusal.code === 'invalid_client') log.warn(line, 'authentication refused')
  else log.info(line, 'request refused')

  reply.code(status).headers(NO_STORE)
  if (status === 503) reply.header('retry-after', RETRY_AFTER_SECONDS)
  if (refusal instanceof HttpRefusal) reply.headers(refusal.headers)
  if (refusal instanceof HttpRefusal && refusal.bare) reply.send()
  else reply.type(JSON_TYPE).send(refusalBody(refusal))
}

/** The body of a refusal; what RFC 6749 §5.2 does not allow in a description becomes `?`. */
export function refusalBody({ code, description }: Pick<Refusal, 'code' | 'description'>): string {
  return JSON.stringify({ error: code, error_description: description.replace(/[^\x20-\x21\x23-\x5b\x5d-\x7e]/g, '?') })
}

function toRefusal(error: unknown): Refusal {
  if (error instanceof Refusal) return error
  if (error instanceof StoreUnavailable) {
    const log = { reason: error.message, err: error.cause }
    return new Refusal('temporarily_unavailable', 'The server cannot do this now; try again', log)
  }
  const { code, statusCode = 500 } = error as Partial<FastifyError>
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') return new HttpRefusal(413, 'The body is too large')
  if (statusCode < 500) return new HttpRefusal(400, 'The request is malformed')
  return new Refusal('server_error', 'The server failed', { reason: 'unforeseen', err: error })
}
