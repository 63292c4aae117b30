import { OperatorError } from '../domain/operator-error.ts'
import { digestGenerated, generateSecret, type Secret, type SecretState, secretState } from '../domain/secret.ts'
import type { Store } from '../domain/store.ts'
import type { Clock } from '../domain/time.ts'
import { timestamp } from '../domain/time.ts'
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
  const { store, now, audit, report } = context

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
      const time = now()
      const secret = { digest: digestGenerated(clientSecret), createdAt: time }
      const rotated = { clientSecret, othersEndAt: time + overlap }
      const { othersEndAt } = rotated
      const deleteBefore = time - KEEP_ENDED_MS
      if (!(await store.rotateSecret(owner, secret, othersEndAt, deleteBefore, auditOf(rotated)))) {
        throw unknownOwner(owner)
      }
      report({ type: 'secret rotated', clientId: owner, othersEndAt: timestamp(othersEndAt) })
      return rotated
    })
  }

  /**
   * Revokes one secret now; resolves to whether it was not before. Throws OperatorError where no active one would be left,
   * unless that is forced.
   */
  async function revoke(owner: string, secretId: number, { force = false } = {}): Promise<boolean> {
    const all = await list(owner)
    if (!all.some(({ id }) => id === secretId))
      throw new OperatorError(`${owner} has no secret ${secretId}.`, { kind: 'not found' })
    const revokeIt = force ? store.revokeSecret : store.revokeSpareSecret
    // The secret exists, so false means that it is the last active one.
    if (!(await revokeIt(owner, secretId, now(), audit()))) throw lastSecret(owner, secretId)
    const isNew = !all.some(({ id, state }) => id === secretId && state === 'revoked')
    if (isNew) report({ type: 'secret revoked', clientId: owner, secretId })
    return isNew
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
