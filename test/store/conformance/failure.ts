import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import { type Nodes, type Purgeable, type Store, StoreUnavailable } from '../../../src/domain/store.ts'
import { firstTokenIdAt, mintToken } from '../../../src/domain/token.ts'
import { HOUR } from '../../../src/domain/usage.ts'
import { isReady } from '../../support/is-ready.ts'
import { notice } from '../../support/notice.ts'
import { AUDIT, on } from '../../support/on.ts'
import { refusal, refusedRequest } from '../../support/refusal.ts'
import { serverNode } from '../../support/server-node.ts'
import { until } from '../../support/until.ts'
import { keyOf, START } from '../../support/world.ts'
import { changesOf, findStored, type Harness, newKey, PAGE, registerSuites, SECRET, session } from './harness.ts'

type Method = Exclude<
  keyof Store,
  'recallApplication' | 'isBusy' | 'close' | 'clockOffset' | 'nodes' | 'change' | 'purge'
>

/** A call of every method that asks the database, of every change and purge. Of this type, so that none can be left out. */
export function callsOf(
  store: Store,
  key = keyOf(1),
): Record<Method | Purgeable | keyof ReturnType<typeof on>, () => Promise<unknown>> {
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
    listOwnedSecrets: () => store.listOwnedSecrets(PAGE),
    findHandOverLink: () => store.findHandOverLink('code'),
    listHandOverLinks: () => store.listHandOverLinks('owner'),
    makeHandOver: () => on(store).makeHandOver('owner', { digest: 'code', endsAt: START }),
    withdrawHandOver: () => on(store).withdrawHandOver('owner', 1),
    useHandOver: () => on(store).useHandOver('owner', 'code', SECRET),
    mostImportedSecrets: () => store.mostImportedSecrets(),
    suiteUrls: () => store.suiteUrls(),
    findNamesakes: () => store.findNamesakes(['Application owner']),
    countApplications: () => store.countApplications(),
    revokeSpareSecret: () => on(store).revokeSpareSecret('owner', 1, START),
    listAuditLinks: () => store.listAuditLinks(PAGE),
    findAuditHead: () => store.findAuditHead(),
    chainAuditEvents: () => store.chainAuditEvents(1, START),
    findSealedAnswer: () => store.findSealedAnswer('digest', START),
    'idempotency records': () => store.purge('idempotency records', START, 1),
    findOperator: () => store.findOperator('anna'),
    listOperators: () => store.listOperators(),
    findAdminKey: () => store.findAdminKey('key anna'),
    findSession: () => store.findSession('session anna'),
    findLoginCode: () => store.findLoginCode('code anna'),
    addOperator: () => on(store).addOperator({ name: 'anna', role: 'admin', createdAt: START }),
    removeOperator: () => on(store).removeOperator('anna'),
    addAdminKey: () => on(store).addAdminKey('anna', { digest: 'key', ...lasts }),
    revokeAdminKey: () => on(store).revokeAdminKey('anna', 1, START),
    addLoginCode: () => on(store).addLoginCode('anna', { digest: 'code', ...lasts }),
    beginSession: () => on(store).beginSession('anna', 'code', session('session')),
    endSession: () => on(store).endSession('anna', 1),
    recordAdminKeyUse: () => store.recordAdminKeyUse(1, START),
    recordSessionUse: () => store.recordSessionUse({ id: 1, lastSeenAt: START, endsAt: START }),
    recordRefusedSignIn: () => store.recordRefusedSignIn(START, 'groups is missing'),
    'sign-ins': () => store.purge('sign-ins', START, 100),
    issuers: () => store.purge('issuers', START, 1),
    findIssuer: () => store.findIssuer('https://issuer.example', START),
    listIssuers: () => store.listIssuers(START),
    beginFetch: () => store.beginFetch('https://issuer.example', START),
    endFetch: () => store.endFetch('https://issuer.example', { at: START, keys: [], problem: null }),
    addToken: () => store.addToken(newToken()),
    findToken: () => store.findToken(id),
    revokeToken: () => store.revokeToken(id, START),
    tokens: () => store.purge('tokens', START + 1, 10),
    addTokenCounts: () => store.addTokenCounts([count]),
    listTokenCounts: () => store.listTokenCounts([key], 1),
    listApplicationsOf: () => store.listApplicationsOf([key]),
    recordSecretUses: () => store.recordSecretUses([{ secretId: 1, lastUsedAt: START }]),
    listSecretUses: () => store.listSecretUses([1]),
    'token counts': () => store.purge('token counts', HOUR, 1),
    addUsage: () => store.addUsage([{ clientId: '', tokens: 1, checks: 1, refusals: 1 }], START),
    listUsage: () => store.listUsage([''], HOUR, [START]),
    sumUsage: () => store.sumUsage([], HOUR, [START]),
    listBusy: () => store.listBusy(START, 1),
    usage: () => store.purge('usage', START, 1),
    recordRefusals: () => store.recordRefusals([refusal('owner')]),
    listRefusals: () => store.listRefusals('owner'),
    listLastRefused: () => store.listLastRefused(1),
    refusals: () => store.purge('refusals', START, 1),
    recordRefusedRequests: () => store.recordRefusedRequests([refusedRequest('r')]),
    listRefusedRequests: () => store.listRefusedRequests({ limit: 1 }),
    countRefusedRequests: () => store.countRefusedRequests({}),
    'refused requests': () => store.purge('refused requests', START, 1),
    listAuditEvents: () => store.listAuditEvents({ limit: 1 }),
    listRemovals: () => store.listRemovals(1),
    acknowledge: () => store.acknowledge([{ id: 'outage', name: 'Outage', detail: '' }], AUDIT),
    listAcknowledged: () => store.listAcknowledged(START, 1),
    'audit events': () => store.purge('audit events', START, 1),
    listNotices: () => store.listNotices(),
    updateNotices: () => store.updateNotices(() => ({ save: [notice()] })),
    measure: () => store.measure(START),
    listEndingSecrets: () => store.listEndingSecrets(START, START + 1, 1),
    countLiveTokens: () => store.countLiveTokens(firstTokenIdAt(START), 1),
  }
}

/** A store that cannot keep its promises rejects every call, and works again when it can. */
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
    t.strictSame(outcomes, Array(3).fill('rejected'), 'every one of the waiting calls is answered')

    await recover()
    await until(() => isReady(store))
    t.strictSame(await state(), before)
    t.equal(await store.findToken(late.id), undefined)
    await store.addToken(late)
    t.strictSame(await findStored(store, late.id), late)
  })
}
