import { OperatorError } from '../domain/operator-error.ts'
import { digestGenerated, generateSecret, type Secret, type SecretState, secretState } from '../domain/secret.ts'
import type { Store } from '../domain/store.ts'
import type { Clock } from '../domain/time.ts'
import type { Context } from './context.ts'
import { once, type Repeatable } from './idempotency.ts'

/** A secret that has ended is kept this long, so that the log can tell an expired one from a wrong one. 30 days. */
const KEEP_ENDED_MS = 30 * 24 * 60 * 60 * 1000

/** A secret as operators see it. */
export interface ListedSecret extends Secret {
  state: SecretState
  /** When it last authenticated its owner, as far as is known. Milliseconds since the epoch; undefined: never yet. */
  lastUsedAt: number | undefined
}

/** A new secret, shown only this once, and the time by which the others end. */
interface RotatedSecret {
  clientSecret: string
  /** Milliseconds since the epoch. */
  othersEndAt: number
}

/** What an application or a suite authenticates with. `owner`: the client id of one or the id of the other. */
export function createSecrets(context: Context) {
  const { store, now, change } = context

  /** The secrets of an owner, oldest first. */
  async function list(owner: string): Promise<ListedSecret[]> {
    const found = (await store.findApplication(owner)) ?? (await store.findSuite(owner))
    if (!found) throw unknownOwner(owner)
    return listSecrets({ store, now }, found.secrets)
  }

  /** Gives an owner a new secret now, and ends its others after `overlap` milliseconds at the latest. */
  function rotate(owner: string, overlap: number, repeatable: Repeatable = {}): Promise<RotatedSecret> {
    return once<RotatedSecret>(context, repeatable, async (auditOf) => {
      const clientSecret = generateSecret()
      const createdAt = now()
      const secret = { digest: digestGenerated(clientSecret), createdAt }
      const rotated = { clientSecret, othersEndAt: createdAt + overlap }
      const { othersEndAt } = rotated
      const deleteEndedBefore = createdAt - KEEP_ENDED_MS
      const { changed } = await change(
        { type: 'secret rotated', owner, secret, othersEndAt, deleteEndedBefore },
        auditOf(rotated),
      )
      if (!changed) throw unknownOwner(owner)
      return rotated
    })
  }

  /**
   * Revokes one secret now; resolves to whether it was not before. Throws OperatorError where no active one would be left,
   * unless that is forced.
   */
  async function revoke(owner: string, secretId: number, { force = false } = {}): Promise<boolean> {
    const { changed } = await change({ type: 'secret revoked', owner, secretId, force })
    if (changed) return true
    const secret = (await list(owner)).find(({ id }) => id === secretId)
    if (!secret) throw new OperatorError(`${owner} has no secret ${secretId}.`, { kind: 'not found' })
    if (secret.state !== 'revoked') throw lastSecret(owner, secretId)
    return false
  }

  return { list, rotate, revoke }
}

/** Secrets as operators see them now. */
export async function listSecrets(
  { store, now }: { store: Store; now: Clock },
  secrets: readonly Secret[],
): Promise<ListedSecret[]> {
  const uses = await store.listSecretUses(secrets.map(({ id }) => id))
  const lastUsedAt = new Map(uses.map((use) => [use.secretId, use.lastUsedAt]))
  return secrets.map((secret) => ({
    ...secret,
    state: secretState(secret, now()),
    lastUsedAt: lastUsedAt.get(secret.id),
  }))
}

function lastSecret(owner: string, secretId: number): OperatorError {
  return new OperatorError(
    `The secret ${secretId} is the last active one of ${owner}, which could not authenticate any more: ` +
      'rotate first, or force it.',
    { kind: 'conflict' },
  )
}

function unknownOwner(id: string): OperatorError {
  return new OperatorError(`There is no application and no suite with the id ${id}.`, { kind: 'not found' })
}
