import type { Audit } from '../../domain/audit-event.ts'
import type { Event } from '../../domain/events.ts'
import { CLOCKS_APART, type Operator } from '../../domain/operator.ts'
import type { Operators } from '../../domain/store.ts'
import { ofOperator } from '../audited.ts'
import type { AuditedChange } from './audit.ts'
import type { Context } from './context.ts'
import * as sql from './statements/operators.ts'

interface Options extends Pick<Context, 'db' | 'read' | 'write'> {
  audited: AuditedChange
  /** Throws OperatorError once the store has moved. */
  assertNotMoved: () => void
}

interface CredentialRow {
  id: number
  /** JSON. */
  operator: string
}

/** Operators in SQLite. Nothing is cached, so that a revoked credential is refused from the next request on. */
export function createOperators({ db, read, write, audited, assertNotMoved }: Options): Operators {
  const findOperator = db.prepare<[string], string>(sql.findOperator).pluck()
  const listOperators = db.prepare<[], string>(sql.listOperators).pluck()
  const findAdminKey = db.prepare<[string], CredentialRow>(sql.findAdminKey)
  const findSession = db.prepare<[string], CredentialRow>(sql.findSession)
  const findLoginCode = db.prepare<[string], { operator: string; createdAt: number; endsAt: number }>(sql.findLoginCode)
  const insertOperator = db.prepare(sql.insertOperator)
  const deleteOperator = db.prepare(sql.deleteOperator)
  const insertAdminKey = db.prepare<[object], number>(sql.insertAdminKey).pluck()
  const revokeAdminKey = db.prepare(sql.revokeAdminKey)
  const insertLoginCode = db.prepare(sql.insertLoginCode)
  const useLoginCode = db.prepare<[object], number>(sql.useLoginCode).pluck()
  const insertSession = db.prepare<[object], number>(sql.insertSession).pluck()
  const deleteSession = db.prepare(sql.deleteSession)
  const recordAdminKeyUse = db.prepare(sql.recordAdminKeyUse)
  const recordSessionUse = db.prepare(sql.recordSessionUse)
  const purgeLoginCodes = db.prepare(sql.purgeLoginCodes)
  const purgeSessions = db.prepare(sql.purgeSessions)

  /** For tables that are copied when the store moves. Rejects with OperatorError once it has moved. */
  function change<Result>(audit: Audit, type: Event['type'], name: string, action: () => Result): Promise<Result> {
    return audited(audit, ofOperator(type, name), () => {
      assertNotMoved()
      return action()
    })
  }

  return {
    findOperator: (name) => read(() => parse(findOperator.get(name))),
    listOperators: () => read(() => listOperators.all().map((json) => JSON.parse(json) as Operator)),
    findAdminKey: (digest) => read(() => toCredential(findAdminKey.get(digest))),
    findSession: (digest) => read(() => toCredential(findSession.get(digest))),
    findLoginCode: (digest) => read(() => findLoginCode.get(digest)),

    addOperator: (operator, audit) =>
      change(audit, 'operator added', operator.name, () => insertOperator.run(operator).changes > 0),
    removeOperator: (name, audit) =>
      change(audit, 'operator removed', name, () => deleteOperator.run(name).changes > 0),
    addAdminKey: (name, key, audit) =>
      change(audit, 'operator key added', name, () => insertAdminKey.get({ ...key, name })),
    revokeAdminKey: (name, id, at, audit) =>
      change(audit, 'operator key revoked', name, () => revokeAdminKey.run({ name, id, at }).changes > 0),
    addLoginCode: (name, code, audit) =>
      audited(audit, ofOperator('login link made', name), () => insertLoginCode.run({ ...code, name }).changes > 0),

    beginSession: (name, codeDigest, session, audit) =>
      audited(audit, ofOperator('operator logged in', name), () => {
        const operatorId = useLoginCode.get({ name, codeDigest })
        return operatorId === undefined ? undefined : insertSession.get({ ...session, operatorId })
      }),

    endSession: (name, id, audit) =>
      audited(audit, ofOperator('session ended', name), () => deleteSession.run(id, name).changes > 0),

    recordAdminKeyUse: (id, at) => write(() => void recordAdminKeyUse.run({ id, at })),
    recordSessionUse: (use) => write(() => void recordSessionUse.run(use)),
    purgeSignIns: (now) =>
      write(() => {
        purgeLoginCodes.run(now)
        purgeSessions.run(now, now + CLOCKS_APART)
      }),
  }
}

function parse(json: string | undefined): Operator | undefined {
  return json === undefined ? undefined : JSON.parse(json)
}

function toCredential(row: CredentialRow | undefined) {
  return row && { id: row.id, operator: JSON.parse(row.operator) as Operator }
}
