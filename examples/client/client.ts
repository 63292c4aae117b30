export interface ClientOptions {
  /** The token server, without a slash at the end: the {auth_url} of the contract. */
  authUrl: string
  clientId: string
  clientSecret: string
  /** A token that has less than this left, in milliseconds, is renewed before it is used. */
  margin?: number
  /** Milliseconds since the epoch. */
  now?: () => number
  fetch?: typeof globalThis.fetch
}

/** A request whose body can be sent twice, which a stream cannot. */
export type ApiRequest = Omit<RequestInit, 'body'> & {
  body?: string | URLSearchParams | FormData | Blob | ArrayBuffer | null
}

/** A token request that failed: what the server answered, never the secret. */
export class TokenRequestError extends Error {
  /** Undefined if there was no answer. */
  readonly status: number | undefined
  /** The `error` and `error_description` of the answer (RFC 6749 §5.2), if it has them. */
  readonly error: string | undefined
  readonly errorDescription: string | undefined
  /** In seconds, if the server said when to retry, as it does with 503. */
  readonly retryAfter: number | undefined
  /** What the server calls the request (X-Request-Id): its operator finds the true reason by it. */
  readonly requestId: string | undefined

  constructor(response?: Response, body: Record<string, unknown> = {}, options?: ErrorOptions) {
    const [error, description] = [body.error, body.error_description].map((text) => text as string | undefined)
    const requestId = response?.headers.get('x-request-id') ?? undefined
    const said = [response?.status ?? 'no answer', error, description, requestId && `request ${requestId}`]
    super(`The token request failed: ${said.filter(Boolean).join(', ')}`, options)
    this.name = 'TokenRequestError'
    this.status = response?.status
    this.error = error
    this.errorDescription = description
    this.retryAfter = Number(response?.headers.get('retry-after')) || undefined
    this.requestId = requestId
  }
}

const TOKEN_REQUEST_TIMEOUT = 10_000

export type Client = ReturnType<typeof createClient>

/** A client of the APIs that the token server protects. It keeps one token for all callers. */
export function createClient(options: ClientOptions) {
  const { authUrl, clientId, clientSecret, margin = 60_000, now = Date.now, fetch = globalThis.fetch } = options
  let cached: { accessToken: string; expiresAt: number } | undefined
  let renewal: Promise<string> | undefined

  /** A token to use now. `refused`: the token that an API refused; it is not returned again. */
  async function token(refused?: string): Promise<string> {
    if (cached?.accessToken === refused) cached = undefined
    if (cached && now() < cached.expiresAt - margin) return cached.accessToken
    // Callers that need a new token while one is being requested wait for that one.
    renewal ??= renew().finally(() => {
      renewal = undefined
    })
    return renewal
  }

  async function renew(): Promise<string> {
    // The lifetime began at the server before the answer arrived.
    const askedAt = now()
    const { access_token, expires_in } = await requestToken()
    cached = { accessToken: access_token, expiresAt: askedAt + expires_in * 1000 }
    return access_token
  }

  async function requestToken(): Promise<{ access_token: string; expires_in: number }> {
    const response = await fetch(`${authUrl}/v1/oauth/accesstoken`, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: `grant_type=client_credentials&client_id=${clientId}&client_secret=${clientSecret}`,
      // The secret must not be sent to any other address.
      redirect: 'error',
      signal: AbortSignal.timeout(TOKEN_REQUEST_TIMEOUT),
    }).catch((cause) => {
      throw new TokenRequestError(undefined, {}, { cause })
    })
    const body = (await response.json().catch(() => null)) ?? {}
    if (!response.ok || !body.access_token) throw new TokenRequestError(response, body)
    return body
  }

  /** Sends a request to an API with the token. After a 401 it retries once with a new token; a second 401 is returned. */
  async function request(url: string | URL, init: ApiRequest = {}): Promise<Response> {
    const send = (accessToken: string) => {
      const headers = new Headers(init.headers)
      headers.set('authorization', `Bearer ${accessToken}`)
      return fetch(url, { ...init, headers })
    }
    const accessToken = await token()
    const response = await send(accessToken)
    if (response.status !== 401) return response
    await response.body?.cancel()
    return send(await token(accessToken))
  }

  return { token, request }
}
