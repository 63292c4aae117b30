import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type Application, type Labels, publicLabelsOf } from '../domain/application.ts'
import { CHECK_REASONS } from '../domain/reasons.ts'
import { RequestRefused } from '../domain/refusal.ts'
import type { Verdict } from '../issuer/check.ts'
import { METHODS } from '../web/http.ts'
import { RESOURCE_PATH } from './metadata.ts'
import { bearerToken } from './wire/authorization.ts'
import { type CheckOptions, reportCheck } from './wire/checks.ts'
import { sendError } from './wire/refuse.ts'

export const VERIFY_PATH = '/v1/oauth/verify'

/**
 * The target of a gateway check, without the path and query of the original request, which the gateway appended and which may be
 * malformed. Other targets stay as they are.
 */
export function withoutForeignPath(target: string): string {
  if (!target.startsWith(VERIFY_PATH)) return target
  return /^(\/v1\/oauth\/verify(?:\/[^/?#]*)?)(?:[/?#].*)?$/.exec(target)?.[1] ?? target
}

interface VerifyRequest {
  Params: { suite?: string }
}

/**
 * The gateway check, RFC 6750: may a request with this Authorization header pass to that suite? Accepts every method, because
 * gateways forward the method of the original request.
 */
export function verify(app: FastifyInstance, options: CheckOptions): void {
  const [issuer, publicUrl] = [options.issuer, inAscii(options.publicUrl)]
  const realm = `Bearer realm="${publicUrl}"`
  /** The headers of an application, made once, because the store caches the application. */
  const clientHeaders = new WeakMap<Application, Record<string, string>>()

  for (const method of METHODS) if (!app.supportedMethods.includes(method)) app.addHttpMethod(method)

  for (const url of [VERIFY_PATH, `${VERIFY_PATH}/:suite`]) {
    // The hook answers before Fastify reads the body, which is meant for the suite; the handler is never reached.
    app.all<VerifyRequest>(url, { exposeHeadRoute: false, onRequest: handle }, handle)
  }

  /** Returns no promise: Fastify would wait until the reply is sent, which is expensive (docs/performance). */
  function handle(request: FastifyRequest<VerifyRequest>, reply: FastifyReply): void {
    void decide(request, reply)
  }

  async function decide(request: FastifyRequest<VerifyRequest>, reply: FastifyReply): Promise<void> {
    const { suite } = request.params
    const token = bearerToken(request)
    try {
      const checked = token instanceof RequestRefused ? refuseHeader(token, suite) : issuer.check(token, { suite })
      answer(await checked, request, reply)
    } catch (error) {
      void reply.send(error)
    }
  }

  /** Handles a malformed Authorization header. An unknown suite takes precedence, as over every problem of a token. */
  async function refuseHeader({ reason }: RequestRefused, suite: string | undefined): Promise<Verdict> {
    if (suite === undefined || (await issuer.urlOf(suite)) !== undefined) throw new RequestRefused(reason, { suite })
    return { kind: 'no such suite', reason: 'no such suite' }
  }

  function answer(verdict: Verdict, request: FastifyRequest<VerifyRequest>, reply: FastifyReply): void {
    reportCheck(options, verdict, request.params.suite, request)
    if (verdict.kind === 'active') {
      const { application, tokenId, expiresAt } = verdict
      reply.headers(headersOf(application)).header('x-token-id', tokenId)
      reply.header('x-token-expires', String(Math.floor(expiresAt / 1000))).send()
      return
    }
    const error = CHECK_REASONS[verdict.reason]
    const challenge = verdict.url === undefined ? realm : realm + metadataOf(publicUrl, request.params.suite)
    if (verdict.kind === 'no such suite') sendError(reply, error)
    // RFC 6750 §3.1: no error code for a request without a token.
    else if (verdict.reason === 'no token') reply.code(401).header('www-authenticate', challenge).send()
    else {
      const { code, description } = error
      reply.header('www-authenticate', `${challenge}, error="${code}", error_description="${description}"`)
      sendError(reply, error)
    }
  }

  function headersOf(application: Application): Record<string, string> {
    let headers = clientHeaders.get(application)
    if (!headers) {
      headers = {
        'x-client-id': headerValue(application.clientId),
        'x-application-name': headerValue(application.name),
        'x-developer-email': headerValue(application.developerEmail),
      }
      const labels = publicLabelsOf(application)
      if (labels) headers['x-application-labels'] = labelsValue(labels)
      clientHeaders.set(application, headers)
    }
    return headers
  }
}

/** Labels as a header value, in the form of W3C Baggage: `tier=gold,region=EU%20West`. */
function labelsValue(labels: Labels): string {
  return Object.entries(labels)
    .map(([key, value]) => `${key}=${encodeURIComponent(value)}`)
    .join(',')
}

/** Percent-encodes the other characters of a URL: in a header, Node.js refuses them or, up to U+00FF, sends Latin-1. */
function inAscii(url: string): string {
  return url.replace(/[^!-~]+/g, encodeURIComponent)
}

/** Where a client finds the metadata of a suite with a URL, RFC 9728 §5.1: here, which it can reach wherever the suite is. */
function metadataOf(publicUrl: string, suite: string | undefined): string {
  return `, resource_metadata="${publicUrl}${RESOURCE_PATH}/${suite}"`
}

/**
 * Any text as a valid header value: percent-encoded UTF-8 (RFC 3986 §2.1), except for printable ASCII other than spaces and
 * percent signs. `decodeURIComponent` decodes it.
 */
export function headerValue(text: string): string {
  return text.replace(/[^\x21-\x24\x26-\x7e]+/g, encodeURIComponent)
}
