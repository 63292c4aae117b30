import {
  type AdminKey,
  type AdminKeyState,
  adminKeyState,
  generateAdminKey,
  generateLoginCode,
  isOver,
  LOGIN_CODE_LIFETIME,
  type Operator,
  type Role,
  unknownOperator,
} from '../domain/operator.ts'
import { OperatorError } from '../domain/operator-error.ts'
import { digestGenerated } from '../domain/secret.ts'
import { timestamp } from '../domain/time.ts'
import type { Context } from './context.ts'
import { operatorSchema, valid } from './rules.ts'

/** The longest lifetime of an admin key. 365 days, in milliseconds. */
const LONGEST_KEY_MS = 365 * 24 * 60 * 60 * 1000

/** An admin key with its current state. */
export interface ListedAdminKey extends AdminKey {
  state: AdminKeyState
}

/** An operator with all keys, and only the sessions that are still valid. */
export interface ListedOperator extends Operator {
  keys: readonly ListedAdminKey[]
}

/** The operators who may use the admin listener. They and their keys are added on the command line only (docs/adr/0023). */
export function createOperators({ store, now, audit, report }: Context) {
  async function add(name: string, role: Role): Promise<ListedOperator> {
    assertCommandLine()
    const operator = valid(operatorSchema, { name, role })
    if (!(await store.addOperator({ ...operator, createdAt: now() }, audit()))) {
      throw new OperatorError(`There is an operator with the name ${name} already.`, { kind: 'conflict' })
    }
    report({ type: 'operator added', operator: name, role })
    return show(name)
  }

  /** Every operator, oldest first. */
  async function list(): Promise<ListedOperator[]> {
    return (await store.listOperators()).map(listed)
  }

  async function show(name: string): Promise<ListedOperator> {
    const operator = await store.findOperator(name)
    if (!operator) throw unknownOperator(name)
    return listed(operator)
  }

  function listed(operator: Operator): ListedOperator {
    return {
      ...operator,
      keys: operator.keys.map((key) => ({ ...key, state: adminKeyState(key, now()) })),
      sessions: operator.sessions.filter((session) => !isOver(session, now())),
    }
  }

  /** The operator's keys, sessions and login links are refused from the next request on. */
  async function remove(name: string): Promise<void> {
    await show(name)
    if (!(await store.removeOperator(name, audit()))) throw unknownOperator(name)
    report({ type: 'operator removed', operator: name })
  }

  /** Creates an admin key, which is shown only this once. Throws OperatorError if the lifetime is not within 365 days. */
  async function addKey(name: string, lifetimeMs: number): Promise<{ adminKey: string; id: number; endsAt: number }> {
    assertCommandLine()
    if (!(lifetimeMs > 0 && lifetimeMs <= LONGEST_KEY_MS)) {
      throw new OperatorError('An admin key must expire in the future, 365 days from now at most.')
    }
    const adminKey = generateAdminKey()
    const createdAt = now()
    const endsAt = createdAt + lifetimeMs
    const id = await store.addAdminKey(name, { digest: digestGenerated(adminKey), createdAt, endsAt }, audit())
    if (id === undefined) throw unknownOperator(name)
    report({ type: 'operator key added', operator: name, keyId: id, endsAt: timestamp(endsAt) })
    return { adminKey, id, endsAt }
  }

  /** Resolves to false if the key was revoked before. */
  async function revokeKey(name: string, id: number): Promise<boolean> {
    const { keys } = await show(name)
    if (!(await store.revokeAdminKey(name, id, now(), audit()))) {
      throw new OperatorError(`The operator ${name} has no key ${id}.`, { kind: 'not found' })
    }
    const isNew = !keys.some((key) => key.id === id && key.state === 'revoked')
    if (isNew) report({ type: 'operator key revoked', operator: name, keyId: id })
    return isNew
  }

  /** Creates the code of a login link: valid for one login within ten minutes. */
  async function makeLoginCode(name: string): Promise<{ code: string; endsAt: number }> {
    assertCommandLine()
    const createdAt = now()
    const endsAt = createdAt + LOGIN_CODE_LIFETIME
    const code = generateLoginCode(endsAt)
    if (!(await store.addLoginCode(name, { digest: digestGenerated(code), createdAt, endsAt }, audit()))) {
      throw unknownOperator(name)
    }
    report({ type: 'login link made', operator: name, endsAt: timestamp(endsAt) })
    return { code, endsAt }
  }

  async function endSession(name: string, id: number): Promise<void> {
    await show(name)
    if (!(await store.endSession(name, id, audit())))
      throw new OperatorError(`The operator ${name} has no session ${id}.`, { kind: 'not found' })
    report({ type: 'session ended', operator: name, sessionId: id })
  }

  /** Throws OperatorError unless called by the command line: no request from the network may create a credential. */
  function assertCommandLine(): void {
    if (audit().author.origin === 'command line') return
    throw new OperatorError('Operators, their keys and login links are added by the command line only.')
  }

  return { add, list, show, remove, addKey, revokeKey, makeLoginCode, endSession }
}
