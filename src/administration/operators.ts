import {
  type AdminKey,
  generateAdminKey,
  generateLinkCode,
  isFromProvider,
  isOver,
  LOGIN_CODE_LIFETIME,
  type Operator,
  type Role,
  unknownOperator,
} from '../domain/operator.ts'
import { OperatorError } from '../domain/operator-error.ts'
import { digestGenerated, type SecretState, secretState } from '../domain/secret.ts'
import { DAY } from '../domain/usage.ts'
import type { Context } from './context.ts'
import { operatorSchema, valid } from './rules.ts'

const LONGEST_KEY_MS = 365 * DAY

export interface ListedAdminKey extends AdminKey {
  state: SecretState
}

/** An operator with all keys, but only the sessions that are still valid. */
export interface ListedOperator extends Operator {
  keys: readonly ListedAdminKey[]
}

/** The operators who may use the admin listener. They and their keys are added on the command line only (docs/adr/0023). */
export function createOperators(context: Context) {
  const { store, now, change } = context

  async function add(name: string, role: Role): Promise<ListedOperator> {
    assertCommandLine(context, name)
    valid(operatorSchema, { name, role })
    const { changed } = await change({ type: 'operator added', operator: name, role })
    if (!changed) throw new OperatorError(`There is already an operator with the name ${name}.`, { kind: 'taken id' })
    return show(name)
  }

  /** Oldest first. */
  const list = async (): Promise<ListedOperator[]> => (await store.listOperators()).map(listed)

  const show = async (name: string): Promise<ListedOperator> => listed(await find(context, name))

  function listed(operator: Operator): ListedOperator {
    return {
      ...operator,
      keys: operator.keys.map((key) => ({ ...key, state: secretState(key, now()) })),
      sessions: operator.sessions.filter((session) => !isOver(session, now())),
    }
  }

  /** The operator's keys, sessions and links are refused from the next request on. */
  async function remove(name: string): Promise<void> {
    const { changed } = await change({ type: 'operator removed', operator: name })
    if (!changed) throw unknownOperator(name)
  }

  return { add, list, show, remove, ...createCredentials(context) }
}

function createCredentials(context: Context) {
  const { audit, change } = context

  /** Creates an admin key, which is shown only once. Throws OperatorError if the lifetime is not within 365 days. */
  async function addKey(name: string, lifetimeMs: number): Promise<{ adminKey: string; id: number; endsAt: number }> {
    assertCommandLine(context, name)
    if (!(lifetimeMs > 0 && lifetimeMs <= LONGEST_KEY_MS)) {
      throw new OperatorError('An admin key must expire in the future, 365 days from now at most.')
    }
    const adminKey = generateAdminKey()
    const audited = audit()
    const endsAt = audited.at + lifetimeMs
    const digest = digestGenerated(adminKey)
    const { id } = await change({ type: 'operator key added', operator: name, digest, endsAt }, audited)
    if (id === undefined) throw unknownOperator(name)
    return { adminKey, id, endsAt }
  }

  /** Resolves to false if the key was already revoked. */
  async function revokeKey(name: string, id: number): Promise<boolean> {
    const { changed } = await change({ type: 'operator key revoked', operator: name, keyId: id })
    if (changed) return true
    const { keys } = await find(context, name)
    if (keys.some((key) => key.id === id)) return false
    throw new OperatorError(`The operator ${name} has no key ${id}.`, { kind: 'not found' })
  }

  /** Creates the code of a login link: valid for one login within ten minutes. */
  async function makeLoginCode(name: string): Promise<{ code: string; endsAt: number }> {
    assertCommandLine(context, name)
    const audited = audit()
    const endsAt = audited.at + LOGIN_CODE_LIFETIME
    const code = generateLinkCode(endsAt)
    const digest = digestGenerated(code)
    const { changed } = await change({ type: 'login link made', operator: name, digest, endsAt }, audited)
    if (!changed) throw unknownOperator(name)
    return { code, endsAt }
  }

  async function endSession(name: string, id: number): Promise<void> {
    const { changed } = await change({ type: 'session ended', operator: name, sessionId: id })
    if (changed) return
    await find(context, name)
    throw new OperatorError(`The operator ${name} has no session ${id}.`, { kind: 'not found' })
  }

  return { addKey, revokeKey, makeLoginCode, endSession }
}

async function find({ store }: Context, name: string): Promise<Operator> {
  const operator = await store.findOperator(name)
  if (!operator) throw unknownOperator(name)
  return operator
}

/** Throws OperatorError unless called by the command line: no request from the network may create a credential. */
function assertCommandLine({ audit }: Context, name: string): void {
  if (audit().author.origin !== 'command line')
    throw new OperatorError('Operators, their keys and login links are added on the command line only.')
  // A key or a link would outlive the role that the provider gives.
  if (isFromProvider({ name })) throw new OperatorError(`${name} can sign in with the identity provider only.`)
}
