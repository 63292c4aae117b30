import type { RequestListener } from 'node:http'
import * as jose from 'jose'
import { Provider } from 'oidc-provider'
import t from 'tap'
import { on } from '../support/on.ts'
import { credential, listenSecurely } from '../support/workload-issuer.ts'
import { createWorld, PUBLIC_URL } from '../support/world.ts'

t.test(
  'oidc-provider: an access token that it signs for this server stands for a secret, also after its keys changed',
  async (t) => {
    const { store, clock, credentials, post, logged } = await createWorld(t)
    let provider: Provider
    const handle: RequestListener = (request, response) => provider.callback()(request, response)
    const { issuer } = await listenSecurely(t, handle)
    async function start(kid: string, alg: 'ES256' | 'RS256') {
      const { privateKey } = await jose.generateKeyPair(alg, { extractable: true })
      const resource = { scope: '', audience: PUBLIC_URL, accessTokenFormat: 'jwt', jwt: { sign: { alg } } } as const
      provider = new Provider(issuer, {
        clients: [
          {
            client_id: 'web',
            client_secret: 'secret',
            grant_types: ['client_credentials'],
            response_types: [],
            redirect_uris: [],
            id_token_signed_response_alg: alg,
          },
        ],
        jwks: { keys: [{ ...(await jose.exportJWK(privateKey)), kid, use: 'sig' } as never] },
        features: {
          clientCredentials: { enabled: true },
          devInteractions: { enabled: false },
          resourceIndicators: {
            enabled: true,
            getResourceServerInfo: () => resource,
            defaultResource: () => PUBLIC_URL,
          },
        },
        ttl: { ClientCredentials: 600 },
      })
    }
    await on(store).addSecret(credentials.client_id, credential(issuer, { subject: 'web' }))
    let minutes = 0
    for (const [kid, alg] of [
      ['first', 'ES256'],
      ['second', 'RS256'],
      ['third', 'ES256'],
    ] as const) {
      await start(kid, alg)
      // The provider has no clock of its own.
      clock.time = Date.now() + minutes++ * 60_000
      const body = new URLSearchParams({ grant_type: 'client_credentials', resource: PUBLIC_URL })
      const headers = { authorization: `Basic ${btoa('web:secret')}` }
      const { access_token: token } = await (await fetch(`${issuer}/token`, { method: 'POST', body, headers })).json()
      const answer = await post({ ...credentials, client_secret: token })
      t.equal(answer.statusCode, 200, `${kid}: ${logged().at(-1)?.detail}`)
    }
  },
)
