import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import OAuth2Server from '@node-oauth/oauth2-server'
import { durableStore, LIFETIME, peerClient } from './peer.ts'

// @node-oauth/oauth2-server behind bare node:http, the cheapest server for it.

const client: OAuth2Server.Client = { id: peerClient.client_id, grants: ['client_credentials'] }

const memory = new Map<string, OAuth2Server.Token>()
const store = durableStore() ?? {
  put: (id: string, token: OAuth2Server.Token) => void memory.set(id, token),
  get: (id: string) => memory.get(id),
}

const model: OAuth2Server.ClientCredentialsModel = {
  getClient: async (id, secret) => id === peerClient.client_id && secret === peerClient.client_secret && client,
  getUserFromClient: async ({ id }) => ({ id }),
  saveToken: async (token, client, user) => {
    const stored = { ...token, client, user }
    store.put(token.accessToken, stored, LIFETIME)
    return stored
  },
  getAccessToken: async (accessToken) => {
    const token = store.get(accessToken)
    return token && { ...token, accessTokenExpiresAt: new Date(token.accessTokenExpiresAt) }
  },
}

const oauth = new OAuth2Server({ model, accessTokenLifetime: LIFETIME })

async function answer(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  const { method = '', headers } = incoming
  const body = Object.fromEntries(new URLSearchParams(await text(incoming)))
  const request = new OAuth2Server.Request({ method, headers: headers as Record<string, string>, query: {}, body })
  const response = new OAuth2Server.Response()
  if (incoming.url === '/token') await oauth.token(request, response)
  else if (incoming.url === '/verify') await oauth.authenticate(request, response)
  const json = JSON.stringify(response.body ?? {})
  const length = Buffer.byteLength(json)
  outgoing
    .writeHead(200, { ...response.headers, 'content-type': 'application/json', 'content-length': length })
    .end(json)
}

const server = createServer((incoming, outgoing) => {
  answer(incoming, outgoing).catch((error) => outgoing.writeHead(error.code ?? 500, { 'content-length': 0 }).end())
})
server.listen(Number(process.env.PORT), '127.0.0.1', () => console.log('listening'))
