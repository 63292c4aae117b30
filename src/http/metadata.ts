import type { FastifyInstance } from 'fastify'
import { ALGORITHMS } from '../domain/federation.ts'
import { RequestRefused } from '../domain/refusal.ts'
import type { Issuer } from '../issuer/issuer.ts'
import { ACCESS_TOKEN_PATH } from './access-token.ts'
import { REVOKE_PATH } from './revoke.ts'
import type { ClientOptions } from './wire/form.ts'

const AUTHORIZE_PATH = '/v1/oauth/authorize'

/** What follows is the id of a suite. */
export const RESOURCE_PATH = '/.well-known/oauth-protected-resource'

interface MetadataOptions extends Pick<ClientOptions, 'issuer' | 'acceptsBasic' | 'acceptsJwt'> {
  publicUrl: string
  introspectionUrl: string
  docsUrl?: string | undefined
}

/** The metadata that clients can discover, RFC 8414 §2. This is the only answer that may be cached. */
export function metadata(app: FastifyInstance, options: MetadataOptions): void {
  const { publicUrl, introspectionUrl, acceptsBasic, acceptsJwt, docsUrl } = options
  const methods = ['client_secret_basic', 'client_secret_post']
  const ofApplications = [
    ...(acceptsBasic ? methods : ['client_secret_post']),
    ...(acceptsJwt ? ['private_key_jwt'] : []),
  ]
  const algorithms = acceptsJwt ? ALGORITHMS : undefined
  app.get('/.well-known/oauth-authorization-server', async (_request, reply) => {
    reply.removeHeader('cache-control').removeHeader('pragma')
    return {
      issuer: publicUrl,
      authorization_endpoint: publicUrl + AUTHORIZE_PATH,
      token_endpoint: publicUrl + ACCESS_TOKEN_PATH,
      token_endpoint_auth_methods_supported: ofApplications,
      token_endpoint_auth_signing_alg_values_supported: algorithms,
      grant_types_supported: ['client_credentials'],
      response_types_supported: [],
      introspection_endpoint: introspectionUrl,
      introspection_endpoint_auth_methods_supported: methods,
      revocation_endpoint: publicUrl + REVOKE_PATH,
      revocation_endpoint_auth_methods_supported: ofApplications,
      revocation_endpoint_auth_signing_alg_values_supported: algorithms,
      service_documentation: docsUrl,
    }
  })
}

/**
 * The authorization endpoint, RFC 6749 §3.1, refuses every request: there is no response type. Some client libraries accept no
 * metadata without it, even for client credentials.
 */
export function authorize(app: FastifyInstance): void {
  app.get(AUTHORIZE_PATH, async () => {
    throw new RequestRefused('unsupported response type')
  })
}

/** The metadata of a suite with a URL, RFC 9728 §3.2. Gateways forward here what comes to the well-known path of that URL. */
export function resourceMetadata(app: FastifyInstance, { issuer, publicUrl }: MetadataOptions): void {
  app.get<{ Params: { suite: string } }>(`${RESOURCE_PATH}/:suite`, async (request) => {
    const resource = await issuer.urlOf(request.params.suite)
    if (!resource) throw new RequestRefused('no such endpoint')
    return { resource, authorization_servers: [publicUrl], bearer_methods_supported: ['header'] }
  })
}

export const READY_PATH = '/health/ready'

/** Live: the process answers. Ready: it can also use the store; otherwise 503. */
export function health(app: FastifyInstance, { issuer }: { issuer: Issuer }): void {
  app.get('/health/live', async () => ({ status: 'ok' }))

  app.get(READY_PATH, async () => {
    await issuer.ready()
    return { status: 'ok' }
  })
}
