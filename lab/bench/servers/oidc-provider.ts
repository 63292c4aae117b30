import { type Adapter, type AdapterPayload, type Configuration, Provider } from 'oidc-provider'
import { durableStore, LIFETIME, peerClient } from './peer.ts'

// oidc-provider, set up as its documentation says. In memory it uses its own adapter, which keeps only the last thousand
// tokens: in its favour.

const store = durableStore()

/** The adapter for one kind of record; only client credentials are stored here. */
function adapter(kind: string): Adapter {
  const key = (id: string) => `${kind}:${id}`
  return {
    upsert: async (id, payload, expiresIn = LIFETIME) => store?.put(key(id), payload, expiresIn),
    find: async (id) => store?.get(key(id)) as AdapterPayload | undefined,
    findByUserCode: async () => undefined,
    findByUid: async () => undefined,
    consume: async () => undefined,
    destroy: async (id) => store?.delete(key(id)),
    revokeByGrantId: async () => undefined,
  }
}

const configuration: Configuration = {
  clients: [
    {
      client_id: peerClient.client_id,
      client_secret: peerClient.client_secret,
      grant_types: ['client_credentials'],
      redirect_uris: [],
      response_types: [],
      token_endpoint_auth_method: 'client_secret_post',
    },
  ],
  features: {
    clientCredentials: { enabled: true },
    introspection: { enabled: true },
    devInteractions: { enabled: false },
  },
  ttl: { ClientCredentials: LIFETIME },
  ...(store && { adapter }),
}

const provider = new Provider(`http://127.0.0.1:${process.env.PORT}`, configuration)
provider.listen(Number(process.env.PORT), '127.0.0.1', () => console.log('listening'))
