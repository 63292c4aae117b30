import { createHmac, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { Provider } from 'oidc-provider'
import type { Test } from 'tap'
import type { ProviderSettings } from '../../src/domain/identity.ts'
import { listenHere } from './listen-here.ts'
import { temporaryFolder } from './temporary-folder.ts'

export const CLIENT = { id: 'token-server', secret: 'A secret+with%signs & more~' }

/** Changes an ID token before it is sent. */
type Tamper = (token: { header: Record<string, unknown>; claims: Record<string, unknown> }) => void

/**
 * A company's identity provider: oidc-provider on a free port. `people`: their claims, by subject; tests may change them.
 * `hasThinTokens`: the groups are only in the answer of UserInfo.
 */
export async function startProvider(
  t: Test,
  {
    callbackUrl = 'https://console.example/login/callback',
    hasThinTokens = false,
    hasUserInfo = true,
    host = '127.0.0.1',
  } = {},
) {
  const state = { isHanging: false, isBasicOnly: false, tamper: undefined as Tamper | undefined, asked: [] as string[] }
  const people: Record<string, Record<string, unknown>> = {
    anna: { email: 'anna@company.example', email_verified: true, groups: ['platform', 'everyone'] },
    vera: { preferred_username: 'vera', groups: ['support'] },
    nora: { email: 'nora@company.example', email_verified: true, groups: ['everyone'] },
  }
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const server = createServer(async (request, response) => {
    const url = new URL(request.url ?? '', 'http://x')
    state.asked.push(url.pathname)
    if (state.isHanging) return
    if (state.isBasicOnly && url.pathname === '/token' && !request.headers.authorization) {
      return response.writeHead(401, { 'content-type': 'application/json' }).end('{"error":"invalid_client"}')
    }
    if (!url.pathname.startsWith('/interaction/')) return handle(request, response)
    const as = url.searchParams.get('as')
    if (as === null) {
      const links = Object.keys(people).map((name) => `<p><a href="?as=${name}">${name}</a></p>`)
      return response.setHeader('content-type', 'text/html').end(`<title>Provider</title>${links.join('')}`)
    }
    const refused = { error: 'access_denied', error_description: '<b>No</b> entry' }
    await provider.interactionFinished(request, response, as in people ? { login: { accountId: as } } : refused)
  })
  const { port, stop } = await listenHere(t, server)
  const issuer = `http://${host}:${port}`

  const provider = new Provider(issuer, {
    clients: [
      {
        ...{ client_id: CLIENT.id, client_secret: CLIENT.secret, redirect_uris: [callbackUrl] },
        id_token_signed_response_alg: 'ES256',
      },
    ],
    jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), kid: 'first', use: 'sig' } as never] },
    cookies: { keys: ['key'] },
    claims: { email: ['email', 'email_verified'], profile: ['preferred_username'], groups: ['groups'] },
    conformIdTokenClaims: hasThinTokens,
    features: { devInteractions: { enabled: false }, userinfo: { enabled: hasUserInfo } },
    interactions: { url: (_context, { uid }) => `/interaction/${uid}` },
    ttl: { AccessToken: 600, AuthorizationCode: 60, Grant: 600, IdToken: 600, Interaction: 600, Session: 600 },
    findAccount: (_context, accountId) => ({
      accountId,
      claims: async () => ({ sub: accountId, ...people[accountId] }),
    }),
    async loadExistingGrant({ oidc }) {
      const grant = new oidc.provider.Grant({ clientId: CLIENT.id, accountId: oidc.session?.accountId as string })
      grant.addOIDCScope('openid email profile groups')
      await grant.save()
      return grant
    },
  })
  provider.use(async (context, next) => {
    await next()
    const { path, body } = context as { path: string; body?: { id_token?: string; error_description?: string } }
    // As careless providers do.
    if (path === '/token' && body?.error_description) body.error_description += ` (${context.oidc?.params?.code})`
    if (path === '/token' && body?.id_token && state.tamper)
      body.id_token = tampered(body.id_token, state.tamper, privateKey)
  })
  const handle = provider.callback()

  const secretFile = join(temporaryFolder(t), 'secret')
  writeFileSync(secretFile, `${CLIENT.secret}\n`, { mode: 0o600 })
  const settings: ProviderSettings = {
    issuer,
    clientId: CLIENT.id,
    secretFile,
    rules: {
      admin: { claim: 'groups', values: ['root', 'platform'] },
      viewer: { claim: 'groups', values: ['support', 'platform'] },
    },
    callbackUrl,
  }

  /** Signs in at the provider as a browser does. Resolves to the query of the callback. */
  async function signIn(url: string, as: string): Promise<string> {
    const cookies = new Map<string, string>()
    let next = new URL(url)
    for (let hops = 0; !next.href.startsWith(callbackUrl); hops++) {
      if (hops === 10) throw new Error(`The provider leads nowhere: ${next}`)
      if (next.pathname.startsWith('/interaction/')) next.searchParams.set('as', as)
      const cookie = [...cookies].map((pair) => pair.join('=')).join('; ')
      const { headers } = await fetch(next, { redirect: 'manual', headers: { cookie } })
      for (const text of headers.getSetCookie()) {
        const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(text) ?? []
        cookies.set(name, value)
      }
      next = new URL(headers.get('location') as string, next)
    }
    return next.search.slice(1)
  }

  return { issuer, settings, people, state, signIn, close: stop }
}

/** The token as the provider, or somebody else, signs it anew. */
function tampered(token: string, change: Tamper, key: KeyObject): string {
  const [first = '', second = ''] = token.split('.')
  const header = JSON.parse(Buffer.from(first, 'base64url').toString())
  const claims = JSON.parse(Buffer.from(second, 'base64url').toString())
  change({ header, claims })
  const text = [header, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')
  return `${text}.${signature(header.alg, text, key)}`
}

function signature(alg: string, text: string, key: KeyObject): string {
  if (alg === 'none') return ''
  if (alg === 'HS256') return createHmac('sha256', CLIENT.secret).update(text).digest('base64url')
  return sign('sha256', Buffer.from(text), { key, dsaEncoding: 'ieee-p1363' }).toString('base64url')
}
