import type { JWK } from 'jose'
import {
  ALGORITHMS,
  type Claims,
  isIssuerUrl,
  keysNamed,
  type PublicKey,
  parseJwt,
  shown,
} from '../domain/federation.ts'
import type { AuthenticationReason } from '../domain/reasons.ts'
import { AuthenticationRefused } from '../domain/refusal.ts'
import { type FederatedCredential, isFederated, type Secret, secretState } from '../domain/secret.ts'
import { timestamp } from '../domain/time.ts'
import { mismatchOf, TOLERANCE_S, timeProblem } from './claims.ts'
import { createIssuerKeys, type InTurn, type KeyOptions } from './keys.ts'

/** The types of a JWT that can authenticate its subject (RFC 8725 §3.11). Some platforms leave the type out. */
const TYPES = ['jwt', 'jose', 'at+jwt', 'client-authentication+jwt']

/** How many keys are tried, for a JWT that does not name one. */
const MAX_TRIED = 4

/**
 * One public key for each type of algorithm: the base points of the curves, and a modulus of 2048 bits. Their private keys are
 * known, so a signature that one of them verifies counts as wrong.
 */
const DECOYS: readonly PublicKey[] = [
  { kty: 'RSA', e: 'AQAB', n: `${'_'.repeat(341)}w` },
  {
    ...{ kty: 'EC', crv: 'P-256', x: 'axfR8uEsQkf4vOblY6RA8ncDfYEt6zOg9KE5RdiYwpY' },
    y: 'T-NC4v4af5uO5-tKfA-eFivOM1drMV7Oy7ZAaDe_UfU',
  },
  { kty: 'OKP', crv: 'Ed25519', x: 'WGZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmY' },
]

interface ExamineOptions {
  /** Whether it is a client assertion, which must be meant for this server alone. */
  isAssertion?: boolean | undefined
  inTurn?: InTurn
  /** Receives a sentence for each step that was passed. */
  passed?: (step: string) => void
}

/** The key that verifies a signature, as JSON, or what is wrong. */
type Verified = { key: string; problem?: never } | { key?: never; problem: string }

export type Examine = ReturnType<typeof createExaminer>

/**
 * Returns a function that examines the JWT of a client with these secrets. It resolves to the active federated credential that
 * the JWT matches, and to when the JWT is no longer accepted. It throws AuthenticationRefused, whose detail says what is wrong.
 * What takes time depends on the JWT alone, so that nobody can tell clients apart by it. `publicUrl`: the audience unless a rule
 * has its own.
 */
export function createExaminer({ publicUrl, ...options }: KeyOptions & { publicUrl: string }) {
  const { now } = options
  const findIssuer = createIssuerKeys(options)

  return async function examine(
    secrets: readonly Secret[],
    token: string,
    { isAssertion = false, inTurn = (step) => step(), passed = () => {} }: ExamineOptions = {},
  ): Promise<{ secret: Secret; endsAt: number }> {
    const { header, claims } = parseJwt(token) ?? refuse('federated token not trusted', 'it is not a JWT')
    assertHeader(header)
    passed(`It is a JWT: alg is ${shown(header.alg)}, kid is ${shown(header.kid)}.`)
    const signed = await signedOnes(secrets, { header, claims, token }, inTurn)
    passed(`Its issuer is ${shown(claims.iss)}, and the signature is right.`)
    const wrongTime = timeProblem(claims, now())
    if (wrongTime) refuse('federated token not valid now', wrongTime)
    passed(`It is valid until ${timestamp(Number(claims.exp) * 1000)}.`)
    if (isAssertion) assertOnlyAudience(claims, publicUrl)
    const secret = matching(signed, claims, publicUrl)
    passed(`It matches the federated credential ${secret.id}.`)
    return { secret, endsAt: (Number(claims.exp) + TOLERANCE_S) * 1000 }
  }

  /** The active credentials of a client whose keys verify the JWT. Throws AuthenticationRefused if there are none. */
  async function signedOnes(
    secrets: readonly Secret[],
    { header, claims: { iss }, token }: { header: Claims; claims: Claims; token: string },
    inTurn: InTurn,
  ): Promise<FederatedCredential[]> {
    const canBeFetched = typeof iss === 'string' && isIssuerUrl(iss)
    const issuer = canBeFetched ? await findIssuer(iss, header, inTurn) : undefined
    const fetched = issuer?.keys ?? []
    const federated = secrets.filter(isFederated)
    const isActive = (secret: Secret) => secretState(secret, now()) === 'active'
    const own = federated.filter((one) => one.federated.issuer === iss && isActive(one))
    const given = own.flatMap((one) => one.federated.keys ?? [])
    const { key, problem } = await inTurn(() => verify(token, header, [...fetched, ...given]))
    if (own.length === 0) refuseIssuer(iss, federated, now())
    const signed = own.filter(
      (one) => key && (one.federated.keys ?? fetched).some((own) => JSON.stringify(own) === key),
    )
    if (signed.length > 0) return signed
    if (issuer?.problem && keysNamed(fetched, header).length === 0) refuse('issuer unavailable', issuer.problem)
    return refuse(
      'federated token not trusted',
      problem ?? 'it is signed with a key that only another credential trusts',
    )
  }
}

/** Refuses a JWT whose issuer no active credential names. */
function refuseIssuer(iss: unknown, federated: readonly FederatedCredential[], now: number): never {
  const ended = federated.findLast((one) => one.federated.issuer === iss)
  const state = ended && secretState(ended, now)
  if (state === 'revoked' || state === 'expired')
    refuse(`${state} secret`, `it is the federated credential ${ended?.id}`)
  const issuers = new Set(federated.map((one) => shown(one.federated.issuer)))
  refuse('federated token mismatch', `iss is ${shown(iss)}, not ${[...issuers].join(' or ')}`)
}

/** The credential that matches. Throws AuthenticationRefused for the one that comes closest. */
function matching(signed: readonly FederatedCredential[], claims: Claims, publicUrl: string): Secret {
  const mismatches = []
  for (const secret of signed) {
    const mismatch = mismatchOf(secret.federated, claims, publicUrl)
    if (!mismatch) return secret
    mismatches.push(mismatch)
  }
  const [closest] = mismatches.sort((one, other) => other.matched - one.matched)
  return refuse('federated token mismatch', String(closest?.detail))
}

/** Throws AuthenticationRefused. RFC 8725 §3.1 and §3.11; RFC 7515 §4.1.11: no extension is understood. */
function assertHeader({ alg, typ, crit, kid }: Claims): void {
  const type =
    typeof typ === 'string' ? typ.toLowerCase().replace(/^application\//, '') : typ === undefined ? 'jwt' : typ
  const wrong =
    (!ALGORITHMS.includes(alg as string) && `alg is ${shown(alg)}, not ${ALGORITHMS.join(', ')}`) ||
    (!TYPES.includes(type as string) && `typ is ${shown(typ)}, not JWT`) ||
    (crit !== undefined && `crit is ${shown(crit)}, but no extension is known`) ||
    (kid !== undefined && typeof kid !== 'string' && `kid is ${shown(kid)}, not text`)
  if (wrong) refuse('federated token not trusted', wrong)
}

/** RFC 7523bis §4. Throws AuthenticationRefused. */
function assertOnlyAudience({ aud }: Claims, publicUrl: string): void {
  const [audience, ...others] = [aud].flat()
  if (audience === publicUrl && others.length === 0) return
  refuse('federated token mismatch', `aud is ${shown(aud)}, not only ${shown(publicUrl)}`)
}

/** Verifies a signature with the keys that may have made it, and with decoys until each client has cost the same. */
async function verify(token: string, header: Claims, all: readonly PublicKey[]): Promise<Verified> {
  const { compactVerify, createLocalJWKSet } = await import('jose')
  const verifyWith = (keys: readonly object[]) =>
    compactVerify(token, createLocalJWKSet({ keys: keys as JWK[] }), { algorithms: [...ALGORITHMS] })
  const named = new Set(keysNamed(all, header).map((key) => JSON.stringify(key)))
  let left = header.kid === undefined ? MAX_TRIED : 1
  let problem = `its issuer has no key with the id ${shown(header.kid)}`
  for (const key of [...named].slice(0, MAX_TRIED)) {
    try {
      await verifyWith([JSON.parse(key)])
      return { key }
    } catch (error) {
      const { code, message } = error as { code?: string; message: string }
      problem = `its signature is wrong: ${message}`
      // Others fail before a signature is verified, such as that a key is of another type.
      if (code === 'ERR_JWS_SIGNATURE_VERIFICATION_FAILED') left--
    }
  }
  for (; left > 0; left--) await verifyWith(DECOYS.map((key) => ({ ...key, kid: header.kid }))).catch(() => {})
  return { problem }
}

function refuse(reason: AuthenticationReason, detail: string): never {
  throw new AuthenticationRefused(reason, undefined, detail)
}
