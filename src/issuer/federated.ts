import { hash } from 'node:crypto'
import { mayBeJwt } from '../domain/federation.ts'
import { AuthenticationRefused } from '../domain/refusal.ts'
import { type Secret, secretState } from '../domain/secret.ts'
import { type Clock, MINUTE } from '../domain/time.ts'
import type { Examine } from '../federation/examine.ts'
import type { InTurn } from '../federation/keys.ts'
import { createTurns, type Party } from './turns.ts'

const REMEMBERED = 10_000

/** As for imported secrets, but a signature takes less than a millisecond, and the programs of a cluster may share an address. */
const QUEUE = { concurrency: 2, perParty: 32, total: 256 }

/** How long a JWT is remembered before it is examined again, because its issuer may have withdrawn the key. */
const REMEMBERED_MS = 5 * MINUTE

export interface Presented {
  /** A secret, or a JWT that stands for it. */
  clientSecret: string
  /** Whether it was sent as a client assertion, RFC 7523 §2.2. */
  isAssertion?: boolean | undefined
}

export type Federated = ReturnType<typeof createFederated>

/** Authenticates by federated credentials. A JWT that was examined is remembered for a while, so that it costs what a secret costs. */
export function createFederated({ examine, now }: { examine: Examine; now: Clock }) {
  /** By the digest of a rule and the hash of a JWT that matches it: when it was examined, and until when the JWT is accepted. */
  const remembered = new Map<string, { examinedAt: number; endsAt: number }>()
  const turns = createTurns('too many federated tokens to check', QUEUE)

  /** Finds the credential that a JWT was found to match before, an active one if there is any. */
  function findVerified(secrets: readonly Secret[], { clientSecret, isAssertion }: Presented): Secret | undefined {
    if (remembered.size === 0 || !mayBeJwt(clientSecret)) return undefined
    const time = now()
    const presented = keyOf(clientSecret, isAssertion)
    const known = secrets.filter(({ digest, federated }) => {
      const { examinedAt = 0, endsAt = 0 } = (federated && remembered.get(digest + presented)) ?? {}
      return time < endsAt && Math.abs(time - examinedAt) < REMEMBERED_MS
    })
    return known.find((secret) => secretState(secret, time) === 'active') ?? known[0]
  }

  /** Examines a JWT when it is its party's turn. Resolves to why it is refused. Throws RequestRefused if too many wait. */
  async function verify(
    secrets: readonly Secret[],
    { clientSecret, isAssertion }: Presented,
    party: Party,
  ): Promise<AuthenticationRefused | undefined> {
    try {
      const inTurn: InTurn = (step) => turns.take(party, step)
      const { secret, endsAt } = await examine(secrets, clientSecret, { isAssertion, inTurn })
      if (remembered.size >= REMEMBERED) remembered.delete(remembered.keys().next().value as string)
      remembered.set(secret.digest + keyOf(clientSecret, isAssertion), { examinedAt: now(), endsAt })
      return undefined
    } catch (error) {
      if (error instanceof AuthenticationRefused) return error
      throw error
    }
  }

  return { findVerified, verify }
}

function keyOf(token: string, isAssertion = false): string {
  return ` ${isAssertion} ${hash('sha256', token, 'base64url')}`
}
