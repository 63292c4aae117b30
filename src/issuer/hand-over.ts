import type { Author } from '../domain/audit-event.ts'
import { type Change, makeChange } from '../domain/change.ts'
import type { Observer } from '../domain/events.ts'
import { endOfLinkCode } from '../domain/operator.ts'
import { AuthenticationRefused } from '../domain/refusal.ts'
import { digestGenerated, newRotation } from '../domain/secret.ts'
import type { Store } from '../domain/store.ts'
import type { Clock } from '../domain/time.ts'
import type { Failures } from './failures.ts'

interface HandOverOptions {
  store: Store
  now: Clock
  failures: Failures
  observe: Observer
}

/** The name under which wrong codes are counted. With spaces, so that no client id equals it. */
const GUESSES = 'hand-over links'

/**
 * Uses up a hand-over link: makes a secret for its application in the same transaction, so that the store never holds the secret
 * in clear. Throws AuthenticationRefused, which counts as a failure; RequestRefused after too many failures; StoreUnavailable.
 */
export function handOver(
  { store, now, failures, observe }: HandOverOptions,
  code: string,
  { remoteAddress, requestId }: Pick<Author, 'remoteAddress' | 'requestId'>,
) {
  return failures.attempt({ clientId: GUESSES, remoteAddress }, async () => {
    const endsAt = endOfLinkCode(code)
    const at = now()
    if (endsAt === undefined) throw new AuthenticationRefused('unknown hand-over link')
    if (endsAt <= at) throw new AuthenticationRefused('expired hand-over link')
    const codeDigest = digestGenerated(code)
    const link = await store.findHandOverLink(codeDigest)
    if (!link) throw new AuthenticationRefused('unknown hand-over link')
    const { clientId, name, status, madeBy, overlapSeconds } = link
    if (status === 'suspended') throw new AuthenticationRefused('hand-over to a suspended application', clientId)

    const { clientSecret, rotation } = newRotation(at, overlapSeconds * 1000)
    const author: Author = { actor: madeBy, origin: 'hand-over link', remoteAddress, requestId }
    const change: Change = { type: 'hand-over link used', clientId, codeDigest, ...rotation }
    const { changed } = await makeChange({ store, observe }, change, { author, at })
    // Someone else was faster.
    if (!changed) throw new AuthenticationRefused('unknown hand-over link')
    return { clientId, name, clientSecret, othersEndAt: rotation.othersEndAt }
  })
}
