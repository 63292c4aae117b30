import type { FastifyInstance } from 'fastify'
import type { Issuer } from '../issuer/issuer.ts'
import { ACCESS_TOKEN_PATH } from './access-token.ts'
import { REVOKE_PATH } from './revoke.ts'

/** The metadata that clients can discover, RFC 8414 §2. This is the only answer that may be cached. */
export function metadata(
  app: FastifyInstance,
  options: { publicUrl: string; introspectionUrl: string; acceptsBasic: boolean; docsUrl?: string | undefined },
): void {
  const { publicUrl, introspectionUrl, acceptsBasic, docsUrl } = options
  const methods = ['client_secret_basic', 'client_secret_post']
  const ofApplications = acceptsBasic ? methods : ['client_secret_post']
  app.get('/.well-known/oauth-authorization-server', async (_request, reply) => {
    reply.removeHeader('cache-control').removeHeader('pragma')
    return {
      issuer: publicUrl,
      token_endpoint: publicUrl + ACCESS_TOKEN_PATH,
      token_endpoint_auth_methods_supported: ofApplications,
      grant_types_supported: ['client_credentials'],
      response_types_supported: [],
      introspection_endpoint: introspectionUrl,
      introspection_endpoint_auth_methods_supported: methods,
      revocation_endpoint: publicUrl + REVOKE_PATH,
      revocation_endpoint_auth_methods_supported: ofApplications,
      service_documentation: docsUrl,
    }
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
