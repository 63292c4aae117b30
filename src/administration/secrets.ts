import type { Change } from '../domain/change.ts'
import { OperatorError } from '../domain/operator-error.ts'
import { digestGenerated, generateSecret, type Secret, type SecretState, secretState } from '../domain/secret.ts'
import type { Context } from './context.ts'
import { once, type Repeatable } from './idempotency.ts'

/** How long ended secrets are kept, so that the log can tell an expired one from a wrong one. 30 days. */
const KEEP_ENDED_MS = 30 * 24 * 60 * 60 * 1000

export interface ListedSecret extends Secret {
  state: SecretState
  /** When it last authenticated its owner, as far as reported. Milliseconds since the epoch; undefined: never. */
  lastUsedAt: number | undefined
}

interface RotatedSecret {
  /** Shown only this once. */
  clientSecret: string
  /** Milliseconds since the epoch. */
  othersEndAt: number
}

/** The secrets of applications and suites. `owner`: a client id or a suite id. */
export function createSecrets(context: Context) {
  const { store, now, change } = context

  /** Oldest first. */
  async function list(owner: string): Promise<ListedSecret[]> {
    const found = (await store.findApplication(owner)) ?? (await store.findSuite(owner))
    if (!found) throw unknownOwner(owner)
    return listSecrets(context, found.secrets)
  }

  /** Adds a secret, and ends the others after `overlap` milliseconds at the latest. */
  function rotate(owner: string, overlap: number, repeatable: Repeatable = {}): Promise<RotatedSecret> {
    return once<RotatedSecret>(context, repeatable, async (auditOf) => {
      const clientSecret = generateSecret()
      const createdAt = now()
      const secret = { digest: digestGenerated(clientSecret), createdAt }
      const othersEndAt = createdAt + overlap
      const rotated = { clientSecret, othersEndAt }
      const deleteEndedBefore = createdAt - KEEP_ENDED_MS
      const rotation: Change = { type: 'secret rotated', owner, secret, othersEndAt, deleteEndedBefore }
      if (!(await change(rotation, auditOf(rotated))).changed) throw unknownOwner(owner)
      return rotated
    })
  }

  /** Resolves to false if it was revoked before. Throws OperatorError if no active one would be left, unless forced. */
  async function revoke(owner: string, secretId: number, { force = false } = {}): Promise<boolean> {
    const { changed } = await change({ type: 'secret revoked', owner, secretId, force })
    if (changed) return true
    const secret = (await list(owner)).find(({ id }) => id === secretId)
    if (!secret) throw new OperatorError(`${owner} has no secret ${secretId}.`, { kind: 'not found' })
    if (secret.state === 'revoked') return false
    throw new OperatorError(
      `The secret ${secretId} is the last active one of ${owner}, and ${owner} cannot authenticate without it. ` +
        'Rotate first.',
      { kind: 'conflict' },
    )
  }

  return { list, rotate, revoke }
}

/** Adds the state and the last use of secrets. */
export async function listSecrets(
  { store, now }: Pick<Context, 'store' | 'now'>,
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

function unknownOwner(id: string): OperatorError {
  return new OperatorError(`There is no application and no suite with the id ${id}.`, { kind: 'not found' })
}
