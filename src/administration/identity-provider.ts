import { createHmac } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import * as oidc from 'openid-client'
import * as identity from '../domain/identity.ts'
import { CLOCKS_APART, isFresh } from '../domain/operator.ts'
import { randomString, visibleOnOneLine } from '../domain/text.ts'
import type { Clock } from '../domain/time.ts'
import { fetchLimited } from '../web/fetch.ts'

const { SignInRefused } = identity

const TIMEOUT_S = 5

const LONGEST_DETAIL = 200

/** OpenID Connect Core §2: at most 255 ASCII characters. */
const SUBJECT = /^[\x21-\x7e]{1,255}$/

export type IdentityProvider = ReturnType<typeof createIdentityProvider>

/** Reads the provider's metadata (OpenID Connect Discovery §4). Rejects with SignInRefused. */
export async function discover(
  { issuer, clientId }: Pick<identity.ProviderSettings, 'issuer' | 'clientId'>,
  { authenticate, timeout = TIMEOUT_S }: { authenticate?: oidc.ClientAuth; timeout?: number } = {},
): Promise<oidc.Configuration> {
  // The setting allows http only on this machine.
  const execute = [oidc.enableNonRepudiationChecks, ...(issuer.startsWith('http:') ? [oidc.allowInsecureRequests] : [])]
  const metadata = { [oidc.clockTolerance]: CLOCKS_APART / 1000 }
  const options = { timeout, execute, [oidc.customFetch]: fetchLimited }
  const found = oidc.discovery(new URL(issuer), clientId, metadata, authenticate, options)
  const config = await found.catch((error) => {
    throw new SignInRefused('provider unavailable', detailOf(error))
  })
  // openid-client makes an exception for Microsoft, whose issuer for all companies would let each of them give roles (§4.3).
  if (new URL(config.serverMetadata().issuer).href === new URL(issuer).href) return config
  throw new SignInRefused('provider unavailable', 'the metadata names another issuer')
}

/**
 * Signs people in with OpenID Connect: the authorization code flow with PKCE. Nothing is stored: all values of a sign-in come
 * from a secret that the browser keeps, so any node can complete it, and so can several tabs. The metadata and keys are read each
 * time, since they change and sign-ins are few. The methods reject with SignInRefused.
 */
export function createIdentityProvider(settings: identity.ProviderSettings, now: Clock, { timeout = TIMEOUT_S } = {}) {
  const { issuer, rules, callbackUrl, secretFile } = settings
  let isSecretInHeader = false

  /** Resolves to the provider's page on which somebody signs in. `back` asks for a fresh sign-in, and is the page to return to. */
  async function begin(browserSecret: string, back = ''): Promise<string> {
    const config = await discover(settings, { timeout })
    const { scopes_supported: supported = [] } = config.serverMetadata()
    // Some providers send a claim only for the scope of the same name.
    const claims = Object.values(rules).flatMap((rule) => (rule && supported.includes(rule.claim) ? rule.claim : []))
    const unsigned = [now(), randomString(22), ...(back ? [Buffer.from(back).toString('base64url')] : [])].join('.')
    const state = `${unsigned}.${derive(browserSecret, unsigned)}`
    return oidc.buildAuthorizationUrl(config, {
      redirect_uri: callbackUrl,
      scope: [...new Set(['openid', 'email', 'profile', ...claims])].join(' '),
      state,
      nonce: derive(browserSecret, `nonce ${state}`),
      code_challenge: await oidc.calculatePKCECodeChallenge(derive(browserSecret, `verifier ${state}`)),
      code_challenge_method: 'S256',
      ...(back && { max_age: String(identity.NEW_SIGN_IN_S) }),
    }).href
  }

  /** Resolves to the person who has signed in, and to `back`. `query` has the provider's parameters of the callback URL. */
  async function complete(browserSecret: string, query: string): Promise<identity.Identity & { back: string }> {
    const url = new URL(`${callbackUrl}?${query}`)
    const state = url.searchParams.get('state') ?? ''
    const back = assertBegun(browserSecret, state)
    try {
      // Read each time, since it is replaced from time to time.
      const secret = (await readFile(secretFile, 'utf8').catch(unreadable)).trim()
      const authenticate: oidc.ClientAuth = (...request) =>
        (isSecretInHeader ? oidc.ClientSecretBasic(secret) : oidc.ClientSecretPost(secret))(...request)
      const config = await discover(settings, { authenticate, timeout })
      const grant = () =>
        oidc.authorizationCodeGrant(config, url, {
          expectedState: state,
          expectedNonce: derive(browserSecret, `nonce ${state}`),
          pkceCodeVerifier: derive(browserSecret, `verifier ${state}`),
        })
      const tokens = await grant().catch((error) => {
        if (error.status !== 401) throw error
        // Some providers accept only one of the two ways (RFC 6749 §2.3.1).
        isSecretInHeader = !isSecretInHeader
        return grant()
      })
      const person = identify(rules, await claimsOf(rules, config, tokens), tokens.claims()?.auth_time, now())
      if (back === '' || isFresh(person, now())) return { ...person, back }
      throw new SignInRefused('old sign-in', `auth_time is ${person.authenticatedAt === null ? 'missing' : 'too old'}`)
    } catch (error) {
      throw refusalOf(error as Error, url.searchParams.get('code'))
    }
  }

  /** Returns `back`. */
  function assertBegun(browserSecret: string, state: string): string {
    const end = state.lastIndexOf('.')
    const unsigned = state.slice(0, end)
    const [time, , back = ''] = unsigned.split('.')
    const age = now() - Number(time)
    const isRecent = age >= -CLOCKS_APART && age < identity.SIGN_IN_LIFETIME
    const isOwn = browserSecret !== '' && state.slice(end + 1) === derive(browserSecret, unsigned)
    if (isRecent && isOwn) return Buffer.from(back, 'base64url').toString()
    throw new SignInRefused('unknown sign-in', 'the state belongs to another browser or is too old')
  }

  return { host: new URL(issuer).host, begin, complete }
}

/** The claims of the ID token, and of UserInfo if one that matters is missing: many providers put only a few into the token. */
async function claimsOf(
  rules: identity.ProviderSettings['rules'],
  config: oidc.Configuration,
  { claims, access_token }: Awaited<ReturnType<typeof oidc.authorizationCodeGrant>>,
): Promise<oidc.IDToken> {
  const own = claims() as oidc.IDToken
  const isComplete = Object.values(rules).every((rule) => !rule || identity.valuesOf(own, rule.claim).length > 0)
  if (isComplete && identity.emailIn(own) !== null) return own
  if (config.serverMetadata().userinfo_endpoint === undefined) return own
  const info = await oidc.fetchUserInfo(config, access_token, own.sub)
  // Each of the two can verify only the email address that it names itself.
  const isOfInfo = own.email === undefined || (own.email_verified === undefined && own.email === info.email)
  return { ...info, ...own, email_verified: (isOfInfo ? info : own).email_verified }
}

function identify(
  rules: identity.ProviderSettings['rules'],
  claims: oidc.IDToken,
  authTime: number | undefined,
  time: number,
): identity.Identity {
  const { iss, sub } = claims
  if (!SUBJECT.test(sub)) throw new SignInRefused('provider refused', 'the subject is not 1 to 255 ASCII characters')
  const role = identity.roleIn(claims, rules)
  // It may have fractions (RFC 7519 §2), and the provider's clock may be ahead.
  const authenticatedAt = authTime === undefined ? null : Math.min(Math.floor(authTime * 1000), time)
  const person = { name: `${iss}#${sub}`, email: identity.emailIn(claims), role, authenticatedAt }
  return role ? person : { ...person, whyNoRole: identity.whyNoRole(claims, rules) }
}

/** Unpredictable without the browser's secret. 43 characters of base64url, as PKCE requires (RFC 7636 §4.1). */
function derive(browserSecret: string, text: string): string {
  return createHmac('sha256', browserSecret).update(text).digest('base64url')
}

/** The error without its message, which contains the name of the file: somebody may have set the secret itself. */
function unreadable({ code }: NodeJS.ErrnoException): never {
  throw new SignInRefused('provider unavailable', `OIDC_CLIENT_SECRET_FILE cannot be read: ${code}`)
}

/** The error codes for answers that do not come from a provider. Without a code of openid-client, the network failed. */
const AWAY = ['OAUTH_TIMEOUT', 'OAUTH_RESPONSE_IS_NOT_CONFORM', 'OAUTH_RESPONSE_IS_NOT_JSON']

function refusalOf(error: NodeJS.ErrnoException, code: string | null): identity.SignInRefused {
  if (error instanceof SignInRefused) return error
  const isAway = !error.code?.startsWith('OAUTH_') || AWAY.includes(error.code)
  const detail = detailOf(error).replaceAll(code || '\0', '…')
  return new SignInRefused(isAway ? 'provider unavailable' : 'provider refused', detail)
}

interface Failure extends Error {
  error?: string
  error_description?: string
}

/** What went wrong, in one line. openid-client puts no value of a token or a request into a message. */
function detailOf(failure: Failure): string {
  const { cause, message } = failure
  // The provider's error is in the body, or in a WWW-Authenticate header (RFC 6750 §3).
  const { error, error_description: words }: Partial<Failure> = Array.isArray(cause) ? cause[0].parameters : failure
  // If several addresses were tried, only the code is informative.
  const inner: Partial<NodeJS.ErrnoException> = cause instanceof Error ? cause : {}
  const parts = error === undefined ? [message, inner.message, inner.code] : [error, words]
  return visibleOnOneLine(parts.filter(Boolean).join(': ')).slice(0, LONGEST_DETAIL)
}
