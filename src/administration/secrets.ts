import { OperatorError } from '../domain/operator-error.ts'
import {
  newRotation,
  type OwnedSecret,
  originOf,
  type Secret,
  type SecretState,
  secretState,
} from '../domain/secret.ts'
import { DAY } from '../domain/usage.ts'
import type { Context, ReadContext } from './context.ts'
import { once, type Repeatable } from './idempotency.ts'
import { stepsOf } from './pages.ts'
import type { RecentUse } from './search.ts'

export interface ListedSecret extends Secret {
  origin: OwnedSecret['origin']
  state: SecretState
  /** When it last authenticated its owner, as far as reported; undefined if never. */
  lastUsedAt: number | undefined
  /** The address; undefined or null if it is not known. */
  lastUsedFrom: string | null | undefined
}

export type BrowsedSecret = OwnedSecret & Pick<ListedSecret, 'state'>

/** How many secrets are read per step, which takes about a millisecond. */
const READ_AT_A_TIME = 500

interface RotatedSecret {
  /** Shown only once. */
  clientSecret: string
  othersEndAt: number
}

/** The secrets of applications and suites. `owner` is a client id or a suite id. */
export function createSecrets(context: Context) {
  const { store, now, change } = context

  /** Oldest first. */
  async function list(owner: string): Promise<ListedSecret[]> {
    const found = (await store.findApplication(owner)) ?? (await store.findSuite(owner))
    if (!found) throw unknownOwner(owner)
    return listSecrets(context, found.secrets)
  }

  /** The matching secrets of all owners, in the order of their ids, step by step. `federated`: federated credentials only. */
  async function* pages(
    matches: (secret: BrowsedSecret, now: number) => boolean,
    { federated = false } = {},
  ): AsyncGenerator<BrowsedSecret[]> {
    const time = now()
    const read = (last?: OwnedSecret) => store.listOwnedSecrets({ after: last?.id, limit: READ_AT_A_TIME, federated })
    for await (const step of stepsOf(read, READ_AT_A_TIME)) {
      const secrets = step.map((secret) => ({ ...secret, state: secretState(secret, time) }))
      yield secrets.filter((secret) => matches(secret, time))
    }
  }

  /** Undefined if no secret has this id. */
  async function find(id: number): Promise<BrowsedSecret | undefined> {
    const [secret] = await store.listOwnedSecrets({ after: id - 1, limit: 1 })
    return secret?.id === id ? { ...secret, state: secretState(secret, now()) } : undefined
  }

  /** Adds a secret, and ends the others after at most `overlap` milliseconds. */
  function rotate(owner: string, overlap: number, repeatable: Repeatable = {}): Promise<RotatedSecret> {
    return once<RotatedSecret>(context, repeatable, async (auditOf) => {
      const { clientSecret, rotation } = newRotation(now(), overlap)
      const rotated = { clientSecret, othersEndAt: rotation.othersEndAt }
      const { changed } = await change({ type: 'secret rotated', owner, ...rotation }, auditOf(rotated))
      if (!changed) throw unknownOwner(owner)
      return rotated
    })
  }

  /** Resolves to false if it was already revoked. Throws OperatorError if no active one would be left, unless forced. */
  async function revoke(owner: string, secretId: number, { force = false } = {}): Promise<boolean> {
    const { changed } = await change({ type: 'secret revoked', owner, secretId, force })
    if (changed) return true
    const secret = (await list(owner)).find(({ id }) => id === secretId)
    if (!secret) throw new OperatorError(`${owner} has no secret ${secretId}.`, { kind: 'not found' })
    if (secret.state === 'revoked') return false
    throw new OperatorError(
      `The secret ${secretId} is the last active one of ${owner}, and ${owner} cannot authenticate without it. ` +
        'Rotate first.',
      { kind: 'last secret' },
    )
  }

  return { list, pages, find, rotate, revoke }
}

/** The active secrets that are not needed any more: none was used for a week, while a federated credential was. */
export function replacedSecrets(all: readonly ListedSecret[], now: number): ListedSecret[] {
  const active = all.filter(({ state }) => state === 'active')
  const secrets = active.filter(({ federated }) => !federated)
  const since = now - 7 * DAY
  const isUsed = ({ createdAt, lastUsedAt = 0 }: ListedSecret) => Math.max(createdAt, lastUsedAt) > since
  const isReplaced = active.some(({ federated, lastUsedAt = 0 }) => federated && lastUsedAt > since)
  return isReplaced && !secrets.some(isUsed) ? secrets : []
}

/** How far apart the times of an authentication and of its token may be. */
const SAME_MS = 5000

/** `from 192.0.2.1 with secret 7`: how an application got its last token. Empty if that secret was used again without a token. */
export function wayOfLastToken({ lastTokenAt, secrets }: Pick<RecentUse, 'lastTokenAt'> & { secrets: ListedSecret[] }) {
  const used = secrets.find(({ lastUsedAt }) => Math.abs(Number(lastUsedAt) - Number(lastTokenAt)) < SAME_MS)
  if (!used) return ''
  return `${used.lastUsedFrom ? `from ${used.lastUsedFrom} ` : ''}with ${nounOf(used)} ${used.id}`
}

export function nounOf(secret: Pick<Secret, 'federated'> | undefined): 'credential' | 'secret' {
  return secret?.federated ? 'credential' : 'secret'
}

/** Adds the state and the last use of secrets. */
export async function listSecrets({ store, now }: ReadContext, secrets: readonly Secret[]): Promise<ListedSecret[]> {
  const uses = await store.listSecretUses(secrets.map(({ id }) => id))
  const usesById = new Map(uses.map((use) => [use.secretId, use]))
  return secrets.map((secret) => ({
    ...secret,
    origin: originOf(secret),
    state: secretState(secret, now()),
    lastUsedAt: usesById.get(secret.id)?.lastUsedAt,
    lastUsedFrom: usesById.get(secret.id)?.lastUsedFrom,
  }))
}

function unknownOwner(id: string): OperatorError {
  return new OperatorError(`There is no application and no suite with the id ${id}.`, { kind: 'not found' })
}
