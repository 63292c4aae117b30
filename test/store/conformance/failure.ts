import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import { type Nodes, type Store, StoreUnavailable } from '../../../src/domain/store.ts'
import { firstTokenIdAt, mintToken } from '../../../src/domain/token.ts'
import { AUDIT } from '../../support/audit.ts'
import { isReady } from '../../support/is-ready.ts'
import { keyOf } from '../../support/keys.ts'
import { refusal } from '../../support/refusal.ts'
import { serverNode } from '../../support/server-node.ts'
import { until } from '../../support/until.ts'
import { START } from '../../support/world.ts'
import { changesOf, findStored, type Harness, newKey, PAGE, registerSuites, session } from './harness.ts'

type Method = Exclude<keyof Store, 'close' | 'clockOffset' | 'nodes'>

/** A call of every method that asks the database. Of this type, so that a new method cannot be left out. */
export function callsOf(store: Store, key = keyOf(1)): Record<Method, () => Promise<unknown>> {
  const newToken = () => mintToken(key, START).stored
  const { id } = newToken()
  const lasts = { createdAt: START, endsAt: START }
  const count = { applicationKey: key, hour: 1, issued: 1, refused: 0, lastTokenAt: START }
  return {
    ...changesOf(store, { clientId: 'owner' }),
    ping: () => store.ping(),
    backlog: () => store.backlog(),
    findApplication: () => store.findApplication('owner'),
    listApplications: () => store.listApplications(PAGE),
    listApprovedApplications: () => store.listApprovedApplications('store', PAGE),
    countApproved: () => store.countApproved(['store'], 1),
    listNames: () => store.listNames(PAGE),
    findSuite: () => store.findSuite('store'),
    listSuites: () => store.listSuites(PAGE),
    mostImportedSecrets: () => store.mostImportedSecrets(),
    findNamesakes: () => store.findNamesakes(['Application owner']),
    countApplications: () => store.countApplications(),
    revokeSpareSecret: () => store.revokeSpareSecret('owner', 1, START, AUDIT),
    findSealedAnswer: () => store.findSealedAnswer('digest', START),
    purgeIdempotencyRecords: () => store.purgeIdempotencyRecords(START, 1),
    findOperator: () => store.findOperator('anna'),
    listOperators: () => store.listOperators(),
    findAdminKey: () => store.findAdminKey('key anna'),
    findSession: () => store.findSession('session anna'),
    findLoginCode: () => store.findLoginCode('code anna'),
    addOperator: () => store.addOperator({ name: 'anna', role: 'admin', createdAt: START }, AUDIT),
    removeOperator: () => store.removeOperator('anna', AUDIT),
    addAdminKey: () => store.addAdminKey('anna', { digest: 'key', ...lasts }, AUDIT),
    revokeAdminKey: () => store.revokeAdminKey('anna', 1, START, AUDIT),
    addLoginCode: () => store.addLoginCode('anna', { digest: 'code', ...lasts }, AUDIT),
    beginSession: () => store.beginSession('anna', 'code', session('session'), AUDIT),
    endSession: () => store.endSession('anna', 1, AUDIT),
    recordAdminKeyUse: () => store.recordAdminKeyUse(1, START),
    recordSessionUse: () => store.recordSessionUse({ id: 1, lastSeenAt: START, endsAt: START }),
    purgeSignIns: () => store.purgeSignIns(START),
    addToken: () => store.addToken(newToken()),
    findToken: () => store.findToken(id),
    revokeToken: () => store.revokeToken(id, START),
    purgeTokens: () => store.purgeTokens(firstTokenIdAt(START + 1), 10),
    addTokenCounts: () => store.addTokenCounts([count]),
    countTokens: () => store.countTokens(key, 1),
    listTokenCounts: () => store.listTokenCounts([key], [1]),
    listApplicationUses: () => store.listApplicationUses([key]),
    listApplicationsOf: () => store.listApplicationsOf([key]),
    lastTokenAt: () => store.lastTokenAt(key),
    recordSecretUses: () => store.recordSecretUses([{ secretId: 1, lastUsedAt: START }]),
    listSecretUses: () => store.listSecretUses([1]),
    purgeTokenCounts: () => store.purgeTokenCounts(1, 1),
    recordRefusals: () => store.recordRefusals([refusal('owner')]),
    listRefusals: () => store.listRefusals('owner'),
    listLastRefused: () => store.listLastRefused(1),
    purgeRefusals: () => store.purgeRefusals(START, 1),
    listAuditEvents: () => store.listAuditEvents({ limit: 1 }),
    purgeAuditEvents: () => store.purgeAuditEvents(START, 1),
    size: () => store.size(),
    oldestTokenAt: () => store.oldestTokenAt(),
    countEndingSecrets: () => store.countEndingSecrets(START, START + 1),
    listEndingSecrets: () => store.listEndingSecrets(START, START + 1, 1),
    countLiveTokens: () => store.countLiveTokens(firstTokenIdAt(START), 1),
    countIssued: () => store.countIssued(1),
    lastBackupAt: () => store.lastBackupAt(),
  }
}

/** A store that cannot keep its promises says so, answers nothing, and goes on when it can. */
export function failureConformance(t: Test, { openFragile }: Harness): void {
  const skip = !openFragile && 'it cannot be made to fail here'
  t.test('Failure: every method rejects, changes nothing, and works again later', { skip }, async (t) => {
    const { store, breakDown, recover } = await (openFragile as NonNullable<typeof openFragile>)(t)
    const key = await newKey(store)
    await registerSuites(store, 'store')
    const token = mintToken(key, START).stored
    await store.addToken(token)
    const state = async () =>
      Promise.all([store.listApplications(PAGE), store.listSuites(PAGE), store.findToken(token.id)])
    const before = await state()
    const late = mintToken(key, START).stored

    await breakDown()
    // The moment in which what was just read may still be answered.
    await sleep(10)
    const { nodes } = store
    const ofNodes: Record<keyof Nodes, () => Promise<unknown>> | undefined = nodes && {
      record: () => nodes.record(serverNode()),
      list: () => nodes.list(1),
      remove: () => nodes.remove(serverNode().id),
    }
    for (const [name, call] of Object.entries({ ...callsOf(store, key), ...ofNodes }))
      await t.rejects(call(), StoreUnavailable, name)
    const together = [store.addToken(late), store.addToken(late), store.revokeToken(token.id, 1)]
    const outcomes = (await Promise.allSettled(together)).map(({ status }) => status)
    t.strictSame(outcomes, Array(3).fill('rejected'), 'nobody who waits together is left without an answer')

    await recover()
    await until(() => isReady(store))
    t.strictSame(await state(), before)
    t.equal(await store.findToken(late.id), undefined)
    await store.addToken(late)
    t.strictSame(await findStored(store, late.id), late)
  })
}
