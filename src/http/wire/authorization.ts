import type { FastifyRequest } from 'fastify'
import { RequestRefused } from '../../domain/refusal.ts'
import type { Credentials } from '../../issuer/authenticate.ts'
import { timesGiven } from '../../listener/pipeline.ts'

type Request = Pick<FastifyRequest, 'headers' | 'raw'>

/**
 * The Authorization header. Two of them are refused, because Node.js would use the first. The refusal is returned, not thrown,
 * because another error may take precedence.
 */
function authorizationOf(request: Request): string | undefined | RequestRefused {
  const { authorization } = request.headers
  if (authorization === undefined) return undefined
  if (timesGiven('authorization', request.raw.rawHeaders) > 1)
    return new RequestRefused('Authorization header repeated')
  return authorization
}

/**
 * The token of `Authorization: Bearer …`, RFC 6750 §2.1. Undefined for a missing header, another scheme, or an empty token,
 * which is sent by clients that did not get a token. Returns a refusal if the header is malformed.
 */
export function bearerToken(request: Request): string | undefined | RequestRefused {
  const authorization = authorizationOf(request)
  if (authorization instanceof RequestRefused) return authorization
  if (authorization === undefined || !/^bearer +[^ ]/i.test(authorization)) return undefined
  const isWellFormed = /^bearer +[A-Za-z0-9._~+/-]+=*$/i.test(authorization)
  if (!isWellFormed) return new RequestRefused('Authorization header malformed')
  return authorization.slice(authorization.lastIndexOf(' ') + 1)
}

/**
 * The credentials of `Authorization: Basic …`, RFC 7617 §2, both parts form-encoded (RFC 6749 §2.3.1). Undefined if there is
 * no token68 (RFC 9110 §11.2) or no colon in it. Throws RequestRefused if the token68 is not canonical base64 (RFC 4648 §3), or
 * a part has characters that are invalid in credentials (RFC 6749 appendix A).
 */
export function basicCredentials(authorization: string): Credentials | undefined {
  const [, encoded] = /^basic +([A-Za-z0-9._~+/-]+=*)$/i.exec(authorization) ?? []
  if (!encoded) return undefined
  const bytes = Buffer.from(encoded, 'base64')
  if (bytes.toString('base64') !== encoded) throw new RequestRefused('Authorization header malformed')

  const pair = bytes.toString()
  const colon = pair.indexOf(':')
  if (colon === -1) return undefined
  const [clientId, clientSecret] = [pair.slice(0, colon), pair.slice(colon + 1)].map(formDecode)
  if (clientId === undefined || clientSecret === undefined) return undefined
  if (!VSCHARS.test(clientId + clientSecret)) throw new RequestRefused('Authorization header malformed')
  return { clientId, clientSecret }
}

/**
 * The credentials in the Authorization header. Undefined if there is no header. Throws RequestRefused if that has none, or if
 * the form also has a secret (RFC 6749 §2.3). `client`: what the answer calls the client.
 */
export function credentialsInHeader(
  request: Request,
  form: { client_secret?: unknown },
  client: 'client' | 'suite',
): Credentials | undefined {
  const authorization = authorizationOf(request)
  if (authorization === undefined) return undefined
  if (authorization instanceof RequestRefused) throw authorization
  if (form.client_secret !== undefined) throw new RequestRefused('credentials given twice')
  const credentials = basicCredentials(authorization)
  if (!credentials) throw new RequestRefused('no credentials', { field: client })
  return credentials
}

/** The client id of `Authorization: Basic …`, for the log. Undefined for any other or malformed header. */
export function basicClientId(authorization: string | undefined): string | undefined {
  try {
    return authorization === undefined ? undefined : basicCredentials(authorization)?.clientId
  } catch {
    return undefined
  }
}

/** RFC 6749 appendix A: `VSCHAR = %x20-7E`. Bytes that are not UTF-8 were decoded to U+FFFD, which this range excludes. */
const VSCHARS = /^[\x20-\x7e]*$/

/** Undefined if the percent-encoding is invalid. */
function formDecode(text: string): string | undefined {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    return undefined
  }
}
