import {
  columnsOf,
  type Labels,
  LIST_COLUMNS,
  type NewApplication,
  nameAndDeveloper,
  namedSuites,
  TEXT_COLUMNS,
} from '../../domain/application.ts'
import type { Change, ChangeOf, Rotation } from '../../domain/change.ts'
import { OperatorError } from '../../domain/operator-error.ts'
import type { NewSecret } from '../../domain/secret.ts'
import type { Changes, NewClients } from '../../domain/store.ts'
import type { SuiteChanges } from '../../domain/suite.ts'
import { type AuditSubject, audited, Trial } from './audited.ts'
import { listUnchangedSince } from './statements/audit.ts'
import * as operators from './statements/operators.ts'
import * as sql from './statements/registry.ts'
import { ask, type Database, namesJson, rowsJson, type Work } from './work.ts'

/** The statements of each change. They return the id in ChangeResult as one row. */
const MAKE: { [Type in Change['type']]: (change: ChangeOf<Type>, at: number) => Work<unknown[][]> } = {
  'application updated': updateApplication,
  'change undone': (change, at) =>
    'suite' in change ? updateSuite(change.suite, change.values) : updateApplication(change, at),
  'application suspended': ({ clientId }) => ask(sql.setStatus, [clientId, 'suspended']),
  'application resumed': ({ clientId }) => ask(sql.setStatus, [clientId, 'active']),
  'application removed': ({ clientId }) => ask(sql.deleteApplication, [clientId]),
  *'application approved'(change) {
    const clientIds = yield* unchanged(change)
    return yield* ask(sql.approve, [rowsJson(clientIds.map((clientId) => ({ clientId, suite: change.suite })))])
  },
  *'approval withdrawn'(change) {
    return yield* ask(sql.withdraw, [namesJson(yield* unchanged(change)), change.suite])
  },
  'all tokens revoked': ({ clientId }, at) => ask(sql.revokeTokens, [clientId, at]),
  'suite updated': ({ suite, values }) => updateSuite(suite, values),
  'suite removed': ({ suite }) => ask(sql.deleteSuite, [suite]),
  'secret added': ({ owner, secret }) => insertSecrets([{ owner, ...secret }]),
  'secret rotated': ({ owner, ...rotation }, at) => rotate(owner, rotation, at),
  'secret revoked': ({ owner, secretId, force }, at) => ask(sql.revokeSecret, [owner, secretId, at, force]),
  'hand-over link made': ({ clientId, digest, madeBy, endsAt, overlapSeconds }, at) =>
    ask(sql.insertHandOverLink, [clientId, digest, madeBy, at, endsAt, overlapSeconds]),
  'hand-over link withdrawn': ({ clientId, linkId }) => ask(sql.withdrawHandOverLink, [clientId, linkId]),
  *'hand-over link used'({ clientId, codeDigest, ...rotation }, at) {
    const used = yield* ask<[linkId: number]>(sql.useHandOverLink, [clientId, codeDigest, at])
    if (used.length > 0) yield* rotate(clientId, rotation, at)
    return used
  },
  'operator added': ({ operator, role, email = null }, at) =>
    ask(operators.insertOperator, [operator, role, email, at]),
  *'operator updated'({ operator, role, email = null }) {
    yield* ask(operators.deleteSessionsOfOtherRole, [operator, role])
    yield* ask(sql.deleteHandOverLinksOf, [operator, role])
    return yield* ask(operators.updateOperator, [operator, role, email])
  },
  *'operator removed'({ operator }) {
    yield* ask(sql.deleteHandOverLinksOf, [operator, ''])
    return yield* ask(operators.deleteOperator, [operator])
  },
  'operator key added': ({ operator, digest, endsAt }, at) =>
    ask(operators.insertAdminKey, [operator, digest, at, endsAt]),
  'operator key revoked': ({ operator, keyId }, at) => ask(operators.revokeAdminKey, [operator, keyId, at]),
  'login link made': ({ operator, digest, endsAt }, at) =>
    ask(operators.insertLoginCode, [operator, digest, at, endsAt]),
  *'operator logged in'({ operator, codeDigest, session }) {
    const used = codeDigest !== undefined && (yield* ask(operators.deleteLoginCode, [operator, codeDigest]))
    if (used && used.length === 0) return []
    const { digest, createdAt, endsAt, authenticatedAt, remoteAddress, userAgent } = session
    const values = [operator, digest, createdAt, endsAt, remoteAddress, userAgent, authenticatedAt]
    return yield* ask(operators.insertSession, values)
  },
  'session ended': ({ operator, sessionId }) => ask(operators.deleteSession, [operator, sessionId]),
}

function* updateApplication(change: Omit<ChangeOf<'application updated'>, 'type'>, at: number): Work<unknown[][]> {
  const { clientId, values, status, suites, federated } = change
  const quota = values.quota === null ? 0 : values.quota
  const texts = Object.values(columnsOf(values, TEXT_COLUMNS))
  const lists = Object.values(columnsOf(values, LIST_COLUMNS)).map((list) => list && JSON.stringify(list))
  yield* ask(sql.updateApplication, [clientId, ...texts, labelsColumn(values.labels), ...lists, quota])
  if (status) yield* ask(sql.setStatus, [clientId, status])
  if (federated) yield* setFederated(clientId, federated, at)
  if (!suites) return []
  yield* ask(sql.withdrawOthers, [clientId, namesJson(suites)])
  return yield* ask(sql.approve, [rowsJson(suites.map((suite) => ({ clientId, suite })))])
}

function* updateSuite(suite: string, { name, labels, note, managedBy, url }: SuiteChanges): Work<never[]> {
  yield* ask(sql.updateSuite, [suite, name, labelsColumn(labels), note, managedBy, url])
  yield* assertOwnUrls()
  return []
}

/** A token for a URL is for one suite. */
function* assertOwnUrls(): Work<void> {
  const [shared] = yield* ask<[suite: string, older: string]>(sql.findSharedUrl)
  if (!shared) return
  const message = `The suites ${shared.join(' and ')} cannot have the same URL`
  throw new OperatorError(`${message}.`, { kind: 'invalid', fields: [{ field: 'url', message }] })
}

/** Revokes the federated credentials that are not among these, and adds those that are missing. */
function* setFederated(owner: string, wanted: readonly NewSecret[], at: number): Work<void> {
  const keyOf = ({ digest, endsAt }: NewSecret) => `${digest} ${endsAt ?? ''}`
  yield* ask(sql.revokeOtherFederated, [owner, at, namesJson(wanted.map(keyOf))])
  const rows = yield* ask<[key: string]>(sql.listFederated, [owner])
  const kept = new Set(rows.map(([key]) => key))
  const missing = wanted.filter((one) => !kept.has(keyOf(one)))
  yield* insertSecrets(missing.map((secret) => ({ owner, ...secret })))
}

/** Notes when a change that names what manages an application or a suite has changed anything. */
function* marked<Made extends { entries: unknown[] }>(change: Change, at: number, making: Work<Made>): Work<Made> {
  const made = yield* making
  if (!('values' in change) || change.values.managedBy === undefined || made.entries.length === 0) return made
  if ('suite' in change) yield* ask(sql.markSuite, [change.suite, at])
  else yield* ask(sql.markApplication, [change.clientId, at])
  return made
}

/** The applications whose approval should change; for an undo, only those that have not been changed since. */
function* unchanged({ clientIds, undoes }: Extract<Change, { clientIds: unknown }>): Work<readonly string[]> {
  if (undoes === undefined) return clientIds
  const rows = yield* ask<[clientId: string]>(listUnchangedSince, [namesJson(clientIds), undoes])
  return rows.map(([clientId]) => clientId)
}

/** Changes of data that does not move with the store. They stay allowed after a move, so that operators can log in and out. */
const LOGIN_CHANGES = new Set<Change['type']>(['login link made', 'operator logged in', 'session ended'])

/** Every change that operators make, each in one transaction with its audit events. */
export function createChanges(database: Database): Changes {
  return {
    async change(change, audit) {
      const make = MAKE[change.type] as (change: Change, at: number) => Work<[id: number][]>
      const begin = () => marked(change, audit.at, audited(audit, subjectsOf(change), make(change, audit.at)))
      const made = database.transact(begin, { isCopied: !LOGIN_CHANGES.has(change.type) })
      const { result, entries } = await made.catch((error) => {
        if (error instanceof Trial) return error.made as Awaited<typeof made>
        throw error
      })
      const [{ before, after } = { before: null, after: null }] = entries
      const subjects = entries.map(({ subject }) => subject)
      const fields = Object.keys(after ?? {})
      return { changed: subjects.length > 0, subjects, fields, before, after, id: result[0]?.[0] }
    },

    async register(newcomers, audit) {
      const begin = () => audited(audit, subjectsOfRegistration(newcomers), register(newcomers))
      return (await database.transact(begin, { isCopied: true })).result
    },
  }
}

/** An owner of secrets is either an application or a suite. */
function subjectsOf(change: Change): AuditSubject[] {
  const action = change.type
  if ('operator' in change) return [{ action, kind: 'operator', id: change.operator }]
  if ('clientIds' in change) return change.clientIds.map((id) => ({ action, kind: 'application', id }))
  if (action === 'hand-over link made' || action === 'hand-over link withdrawn') {
    return [{ action, kind: 'hand-over links', id: change.clientId }]
  }
  if ('clientId' in change) return [{ action, kind: 'application', id: change.clientId }]
  if ('suite' in change) return [{ action, kind: 'suite', id: change.suite }]
  return [
    { action, kind: 'application', id: change.owner },
    { action, kind: 'suite', id: change.owner },
  ]
}

/** Each id once: only the first of duplicates is registered. */
function subjectsOfRegistration({ suites, applications }: NewClients): AuditSubject[] {
  const suiteIds = new Set(suites.map(({ suiteId }) => suiteId))
  const clientIds = new Set(applications.map(({ clientId }) => clientId))
  return [
    ...Array.from(suiteIds, (id): AuditSubject => ({ action: 'suite registered', kind: 'suite', id })),
    ...Array.from(clientIds, (id): AuditSubject => ({ action: 'application registered', kind: 'application', id })),
  ]
}

function* register({ suites, applications }: NewClients): Work<NewClients> {
  const distinct = withoutDuplicates(applications)
  const suiteIds = yield* ask<[suiteId: string]>(sql.insertSuites, [rowsJson(suites)])
  yield* assertOwnUrls()
  const clientIds = yield* ask<[clientId: string]>(sql.insertApplications, [rowsJson(distinct.map(rowOf))])
  const addedSuites = insertedOf(suites, suiteIds, ({ suiteId }) => suiteId)
  const added = insertedOf(distinct, clientIds, ({ clientId }) => clientId)
  yield* insertSecrets([
    ...addedSuites.map(({ suiteId, secret }) => ({ owner: suiteId, ...secret })),
    ...added.flatMap(({ clientId, secrets }) => secrets.map((secret) => ({ owner: clientId, ...secret }))),
  ])
  const forAll = added.filter(({ suites }) => suites === 'all')
  const approvals = added.flatMap(({ clientId, suites }) => namedSuites(suites).map((suite) => ({ clientId, suite })))
  yield* ask(sql.approveForAll, [namesJson(forAll.map(({ clientId }) => clientId))])
  yield* ask(sql.approve, [rowsJson(approvals)])
  return { suites: addedSuites, applications: added }
}

/** Leaves out applications with the id or, if they skip namesakes, the name and developer of an earlier one. */
function withoutDuplicates(applications: readonly NewApplication[]): NewApplication[] {
  const ids = new Set<string>()
  const names = new Set<string>()
  return applications.filter((application) => {
    const { clientId, skipNamesake } = application
    const name = nameAndDeveloper(application)
    const isDuplicate = ids.has(clientId) || (skipNamesake && names.has(name))
    if (!ids.has(clientId)) names.add(name)
    ids.add(clientId)
    return !isDuplicate
  })
}

/** The items whose ids were inserted; only the first of duplicates. */
function insertedOf<Item>(items: readonly Item[], rows: [id: string][], idOf: (item: Item) => string) {
  const inserted = new Set(rows.map(([id]) => id))
  return items.filter((item) => inserted.delete(idOf(item)))
}

function rowOf(application: NewApplication) {
  const { clientId, createdAt, skipNamesake, status, labels, quota } = application
  const columns = { ...columnsOf(application, [...TEXT_COLUMNS, ...LIST_COLUMNS]), status, labels, quota }
  return { client_id: clientId, created_at: createdAt, skip_namesake: skipNamesake ? 1 : 0, ...columns }
}

function labelsColumn(labels: Labels | undefined): string | undefined {
  return labels && JSON.stringify(labels)
}

function* rotate(owner: string, { secret, othersEndAt, deleteEndedBefore }: Rotation, at: number): Work<never[]> {
  yield* ask(sql.deleteEndedSecrets, [owner, deleteEndedBefore])
  yield* ask(sql.endSecrets, [owner, othersEndAt, othersEndAt > at ? null : at])
  if (othersEndAt <= at) yield* ask(sql.deleteHandOverLinksFor, [owner])
  return yield* insertSecrets([{ owner, ...secret }])
}

function insertSecrets(secrets: readonly (NewSecret & { owner: string })[]): Work<never[]> {
  const rows = secrets.map(({ federated, ...secret }) => {
    if (!federated) return secret
    return { ...secret, federated: JSON.stringify(federated), keysFrom: federated.keys ? null : federated.issuer }
  })
  return ask(sql.insertSecrets, [rowsJson(rows)])
}
