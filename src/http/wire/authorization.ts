import type { FastifyRequest } from 'fastify'
import { RequestRefused } from '../../domain/refusal.ts'
import type { Credentials } from '../../issuer/authenticate.ts'
import { timesGiven } from '../../listener/pipeline.ts'

type Request = Pick<FastifyRequest, 'headers' | 'raw'>

/**
 * The Authorization header; undefined where there is none, a refusal where there are two: Node.js would take the first.
 * It is returned and not thrown, for the caller may have a question that comes first.
 */
export function authorizationOf(request: Request): string | undefined | RequestRefused {
  const { authorization } = request.headers
  if (authorization === undefined) return undefined
  if (timesGiven('authorization', request.raw.rawHeaders) > 1)
    return new RequestRefused('Authorization header repeated')
  return authorization
}

/**
 * The token of `Authorization: Bearer …`, RFC 6750 §2.1; undefined for no header, another scheme, or nothing behind it, as
 * clients send it that got no token; a refusal where the header is malformed.
 */
export function bearerToken(request: Request): string | undefined | RequestRefused {
  const authorization = authorizationOf(request)
  if (typeof authorization !== 'string' || !/^bearer +[^ ]/i.test(authorization)) {
    return authorization instanceof RequestRefused ? authorization : undefined
  }
  const [, token] = /^bearer +([A-Za-z0-9._~+/-]+=*)$/i.exec(authorization) ?? []
  return token ?? new RequestRefused('Authorization header malformed')
}

/**
 * The credentials of `Authorization: Basic …`, RFC 7617 §2, both halves form-encoded (RFC 6749 §2.3.1). Undefined for
 * what is not a scheme and a token68 (RFC 9110 §11.2), and for what is no pair. Throws where the token68 is not canonical
 * base64 (RFC 4648 §3) or where a half has characters that credentials cannot have (RFC 6749 appendix A).
 */
export function basicCredentials(authorization: string): Credentials | undefined {
  const [, encoded] = /^basic +([A-Za-z0-9._~+/-]+=*)$/i.exec(authorization) ?? []
  if (!encoded) return undefined
  const bytes = Buffer.from(encoded, 'base64')
  if (bytes.toString('base64') !== encoded) throw new RequestRefused('Authorization header malformed')

  const pair = bytes.toString()
  const colon = pair.indexOf(':')
  if (colon === -1) return undefined
  const clientId = formDecode(pair.slice(0, colon))
  const clientSecret = formDecode(pair.slice(colon + 1))
  if (clientId === undefined || clientSecret === undefined) return undefined
  if (!VSCHARS.test(clientId) || !VSCHARS.test(clientSecret)) throw new RequestRefused('Authorization header malformed')
  return { clientId, clientSecret }
}

/** The client id of `Authorization: Basic …`, for the log; undefined for whatever else. */
export function basicClientId(authorization: string | undefined): string | undefined {
  try {
    return authorization === undefined ? undefined : basicCredentials(authorization)?.clientId
  } catch {
    return undefined
  }
}

/** RFC 6749 appendix A: `VSCHAR = %x20-7E`. Bytes that are not UTF-8 were decoded to U+FFFD, which is none. */
const VSCHARS = /^[\x20-\x7e]*$/

/** Undefined where the percent-encoding is wrong. */
function formDecode(text: string): string | undefined {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    return undefined
  }
}
