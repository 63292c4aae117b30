import type { RequestListener, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import tls from 'node:tls'
import * as jose from 'jose'
import type { Test } from 'tap'
import { type FederatedRule, publicKeysIn } from '../../src/domain/federation.ts'
import { newFederated } from '../../src/domain/secret.ts'
import { makeCertificate } from './certificate.ts'
import { listenHere } from './listen-here.ts'
import { temporaryFolder } from './temporary-folder.ts'
import { PUBLIC_URL, START } from './world.ts'

export const SUBJECT = 'system:serviceaccount:shop:web'

type Answer = (response: ServerResponse) => unknown

/** A key pair, and how it signs. */
export async function createSigner(kid: string | null = 'first', alg = 'ES256') {
  const { publicKey, privateKey } = await jose.generateKeyPair(alg, { extractable: true })
  const jwk = { ...(await jose.exportJWK(publicKey)), ...(kid !== null && { kid }), alg, use: 'sig' }
  return { alg, kid, jwk, privateKey }
}

export type Signer = Awaited<ReturnType<typeof createSigner>>

/**
 * A platform that signs JWTs for its workloads. `state.keys`: those that it publishes; `state.answers`: what it answers instead, by path; `state.asked`: the paths that were.
 */
export async function startIssuer(t: Test) {
  const signer = await createSigner()
  const state = { keys: [signer.jwk] as object[], answers: {} as Record<string, Answer>, asked: [] as string[] }
  const { issuer, certificateFile, stop } = await listenSecurely(t, ({ url = '' }, response) => {
    state.asked.push(url)
    const answer = state.answers[url] ?? state.answers['*']
    if (answer) return answer(response)
    const known: Record<string, object> = {
      '/.well-known/openid-configuration': { issuer, jwks_uri: `${issuer}/keys` },
      '/keys': { keys: state.keys },
    }
    if (!known[url]) return response.writeHead(404).end()
    return response.setHeader('content-type', 'application/json').end(JSON.stringify(known[url]))
  })
  return { issuer, certificateFile, state, signer, stop }
}

/** A server on a free port, with a certificate that this process trusts until the test ends. */
export async function listenSecurely(t: Test, handle: RequestListener) {
  const { certificate, key, files } = makeCertificate(temporaryFolder(t))
  const trusted = tls.getCACertificates('default')
  tls.setDefaultCACertificates([...trusted, certificate])
  t.teardown(() => tls.setDefaultCACertificates(trusted))
  const { port, stop } = await listenHere(t, createServer({ cert: certificate, key }, handle))
  return { issuer: `https://127.0.0.1:${port}`, certificateFile: files.certificate, stop }
}

/** Lets an issuer answer with this status, and with this body. */
export const answerOf =
  (status: number, body: unknown = {}, headers: Record<string, string> = {}): Answer =>
  (response) =>
    response.writeHead(status, headers).end(typeof body === 'string' ? body : JSON.stringify(body))

/** Signs claims; those that are undefined are left out. The times are those of a JWT that was made at `now`. */
export function sign(
  { alg, kid, privateKey }: Pick<Signer, 'alg' | 'kid' | 'privateKey'>,
  claims: Record<string, unknown> = {},
  { header = {}, now = START }: { header?: Record<string, unknown>; now?: number } = {},
): Promise<string> {
  const seconds = Math.floor(now / 1000)
  const times = { iat: seconds, nbf: seconds, exp: seconds + 3600 }
  const all = JSON.parse(JSON.stringify({ sub: SUBJECT, aud: PUBLIC_URL, ...times, ...claims }))
  return new jose.CompactSign(Buffer.from(JSON.stringify(all)))
    .setProtectedHeader({ alg, ...(kid !== null && { kid }), ...header })
    .sign(privateKey)
}

/** A JWT with any header and signature. */
export function forge(header: unknown, claims: unknown, signature = 'AAAA'): string {
  const parts = [header, claims].map((part) => (typeof part === 'string' ? part : JSON.stringify(part)))
  return [...parts.map((part) => Buffer.from(part).toString('base64url')), signature].join('.')
}

/** A federated credential of this issuer. */
export function credential(issuer: string, more: Partial<FederatedRule> = {}, times: { endsAt?: number } = {}) {
  const rule = { issuer, subject: SUBJECT, audience: null, claims: {}, keys: null, ...more }
  return newFederated(rule, { createdAt: START, ...times })
}

/** The keys of these signers as they are given with a rule. */
export function given(...signers: Pick<Signer, 'jwk'>[]) {
  return publicKeysIn({ keys: signers.map(({ jwk }) => jwk) })
}
