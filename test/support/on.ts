import type { ApplicationChanges } from '../../src/domain/application.ts'
import type { Audit, Author } from '../../src/domain/audit-event.ts'
import type { Change } from '../../src/domain/change.ts'
import type { NewSession, Role } from '../../src/domain/operator.ts'
import type { NewSecret } from '../../src/domain/secret.ts'
import type { Store } from '../../src/domain/store.ts'
import type { SuiteChanges } from '../../src/domain/suite.ts'
import { PUBLIC_FIELDS } from '../../src/views/registry.ts'

/** The author of changes in tests. */
export const AUTHOR: Author = { actor: 'tester', origin: 'command line', remoteAddress: 'a-machine' }

/** For changes whose author does not matter. */
export const AUDIT: Audit = { author: AUTHOR, at: 1_800_000_000_000, publicFields: PUBLIC_FIELDS }

interface Credential {
  digest: string
  endsAt: number
}

/** The changes of a store by short names. Each resolves to whether anything changed, or to the id of what was added. */
export function on(store: Pick<Store, 'change'>) {
  const make = async (change: Change, audit: Audit = AUDIT) => (await store.change(change, audit)).changed
  const idOf = async (change: Change, audit: Audit = AUDIT) => (await store.change(change, audit)).id
  const at = (time: number, audit: Audit = AUDIT) => ({ ...audit, at: time })

  return {
    setStatus: (clientId: string, status: 'active' | 'suspended', audit?: Audit) =>
      make({ type: status === 'active' ? 'application resumed' : 'application suspended', clientId }, audit),
    updateApplication: (clientId: string, values: ApplicationChanges, audit?: Audit) =>
      make({ type: 'application updated', clientId, values }, audit),
    removeApplication: (clientId: string, audit?: Audit) => make({ type: 'application removed', clientId }, audit),
    updateSuite: (suite: string, values: SuiteChanges, audit?: Audit) =>
      make({ type: 'suite updated', suite, values }, audit),
    removeSuite: (suite: string, audit?: Audit) => make({ type: 'suite removed', suite }, audit),
    approve: (clientId: string, suite: string, audit?: Audit) =>
      make({ type: 'application approved', clientIds: [clientId], suite }, audit),
    withdraw: (clientId: string, suite: string, audit?: Audit) =>
      make({ type: 'approval withdrawn', clientIds: [clientId], suite }, audit),
    revokeTokens: (clientId: string, time: number, audit?: Audit) =>
      make({ type: 'all tokens revoked', clientId }, at(time, audit)),
    addSecret: (owner: string, secret: NewSecret, audit?: Audit) =>
      make({ type: 'secret added', owner, secret }, audit),
    rotateSecret: (owner: string, secret: NewSecret, othersEndAt: number, deleteEndedBefore: number, audit?: Audit) =>
      make({ type: 'secret rotated', owner, secret, othersEndAt, deleteEndedBefore }, audit),
    revokeSecret: (owner: string, secretId: number, time: number, audit?: Audit) =>
      make({ type: 'secret revoked', owner, secretId, force: true }, at(time, audit)),
    revokeSpareSecret: (owner: string, secretId: number, time: number, audit?: Audit) =>
      make({ type: 'secret revoked', owner, secretId, force: false }, at(time, audit)),
    makeHandOver: (clientId: string, { digest, endsAt }: Credential, audit?: Audit) =>
      idOf({ type: 'hand-over link made', clientId, digest, endsAt, madeBy: 'anna', overlapSeconds: 60 }, audit),
    withdrawHandOver: (clientId: string, linkId: number, audit?: Audit) =>
      make({ type: 'hand-over link withdrawn', clientId, linkId }, audit),
    useHandOver: (clientId: string, codeDigest: string, secret: NewSecret, audit: Audit = AUDIT) => {
      const ends = { othersEndAt: audit.at + 60_000, deleteEndedBefore: 0 }
      return idOf({ type: 'hand-over link used', clientId, codeDigest, secret, ...ends }, audit)
    },
    addOperator: ({ name, role, createdAt }: { name: string; role: Role; createdAt: number }, audit?: Audit) =>
      make({ type: 'operator added', operator: name, role }, at(createdAt, audit)),
    removeOperator: (operator: string, audit?: Audit) => make({ type: 'operator removed', operator }, audit),
    addAdminKey: (operator: string, key: Credential & { createdAt: number }, audit?: Audit) =>
      idOf({ type: 'operator key added', operator, digest: key.digest, endsAt: key.endsAt }, at(key.createdAt, audit)),
    revokeAdminKey: (operator: string, keyId: number, time: number, audit?: Audit) =>
      make({ type: 'operator key revoked', operator, keyId }, at(time, audit)),
    addLoginCode: (operator: string, code: Credential & { createdAt: number }, audit?: Audit) =>
      make({ type: 'login link made', operator, digest: code.digest, endsAt: code.endsAt }, at(code.createdAt, audit)),
    beginSession: (operator: string, codeDigest: string | undefined, session: NewSession, audit?: Audit) =>
      idOf({ type: 'operator logged in', operator, codeDigest, session }, audit),
    endSession: (operator: string, sessionId: number, audit?: Audit) =>
      make({ type: 'session ended', operator, sessionId }, audit),
  }
}
