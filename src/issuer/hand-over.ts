import type { Author, PublicFieldsOf } from '../domain/audit-event.ts'
import { type Change, makeChange } from '../domain/change.ts'
import type { Observer } from '../domain/events.ts'
import { endOfLinkCode } from '../domain/operator.ts'
import { AuthenticationRefused } from '../domain/refusal.ts'
import { digestGenerated, newRotation } from '../domain/secret.ts'
import type { Store } from '../domain/store.ts'
import type { Clock } from '../domain/time.ts'
import type { Failures } from './failures.ts'

/** The name under which wrong codes are counted. No client id has spaces. */
const GUESSES = 'hand-over links'

interface Handing {
  store: Store
  now: Clock
  failures: Failures
  publicFields: PublicFieldsOf
}

/**
 * Uses up a hand-over link: makes a secret for its application in the same transaction, so that the store never holds the
 * secret in clear text. Only refused codes count as failures, so nobody can stop the links of others at the same address.
 * Throws AuthenticationRefused; RequestRefused for a wrong code after too many others; StoreUnavailable.
 */
export async function handOver(
  { store, now, failures, publicFields, observe }: Handing & { observe: Observer },
  code: string,
  { remoteAddress, requestId }: Pick<Author, 'remoteAddress' | 'requestId'>,
) {
  const refuse = (...reason: ConstructorParameters<typeof AuthenticationRefused>) =>
    failures.attempt({ clientId: GUESSES, remoteAddress }, () => Promise.reject(new AuthenticationRefused(...reason)))
  const endsAt = endOfLinkCode(code)
  const at = now()
  if (endsAt === undefined) return refuse('unknown hand-over link')
  if (endsAt <= at) return refuse('expired hand-over link')
  const codeDigest = digestGenerated(code)
  const link = await store.findHandOverLink(codeDigest)
  if (!link) return refuse('unknown hand-over link')
  const { clientId, name, status, madeBy, overlapSeconds } = link
  if (status === 'suspended') return refuse('hand-over to a suspended application', clientId)

  const { clientSecret, rotation } = newRotation(at, overlapSeconds * 1000)
  const author: Author = { actor: madeBy, origin: 'hand-over link', remoteAddress, requestId }
  const change: Change = { type: 'hand-over link used', clientId, codeDigest, ...rotation }
  const { changed } = await makeChange({ store, observe }, change, { author, at, publicFields })
  // Another request has just used it.
  if (!changed) return refuse('unknown hand-over link')
  return { clientId, name, clientSecret, othersEndAt: rotation.othersEndAt }
}
