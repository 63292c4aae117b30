import t, { type Test } from 'tap'
import { type AuditQuery, searchAuditEvents } from '../../src/administration/audit-trail.ts'
import { openStore } from '../../src/store/open.ts'
import { application, suite } from '../support/newcomers.ts'
import { AUDIT, on } from '../support/on.ts'
import { START } from '../support/world.ts'

/** A store with events of `ann` on two suites, and of `Joanna` on as many applications. */
async function openTrail(t: Test, applications: number) {
  const store = await openStore({ kind: 'sqlite', file: ':memory:' }, { lockTimeout: 0 })
  t.teardown(() => store.close())
  const by = (actor: string, at: number) => ({ ...AUDIT, author: { ...AUDIT.author, actor }, at })
  const suites = [suite('north'), { ...suite('s-2'), name: 'Nördlich' }]
  await store.register({ suites, applications: [] }, by('ann', START))
  const all = Array.from({ length: applications }, (_, n) => application(`a-${n}`))
  await store.register({ suites: [], applications: all }, by('Joanna', START + 10))
  const found = async (query: Partial<AuditQuery>, maxSteps?: number) => {
    const { events, next } = await searchAuditEvents(store, { limit: 50, ...query }, maxSteps)
    return { ids: events.map(({ subject }) => subject.id).join(), next }
  }
  return { store, found }
}

t.test('Audit search: by action, by time, and by a part of a name or id, in any case', async (t) => {
  const { store, found } = await openTrail(t, 2)
  await on(store).setStatus('a-0', 'suspended')
  await on(store).removeSuite('s-2')
  const cases: [query: Partial<AuditQuery>, ids: string][] = [
    [{ action: 'suite registered' }, 's-2,north'],
    [{ action: 'application suspended' }, 'a-0'],
    [{ action: 'nothing' }, ''],
    [{ until: START + 10, action: 'suite registered' }, 's-2,north'],
    [{ until: START, action: 'suite registered' }, ''],
    [{ search: 'NÖRD' }, 's-2,s-2'],
    [{ search: 'NORTH' }, 'north'],
    [{ search: '-1' }, 'a-1'],
    [{ search: 'Application a', actor: 'Joanna' }, 'a-1,a-0'],
    [{ search: 'a-1 application' }, 'a-1'],
    [{ actorPart: 'ANN', search: 'n' }, 'a-1,a-0,s-2,north'],
    [{ actorPart: 'joann', action: 'application registered' }, 'a-1,a-0'],
    [{ actor: 'joanna', action: 'application registered' }, ''],
  ]
  for (const [query, ids] of cases) t.strictSame(await found(query), { ids, next: undefined }, JSON.stringify(query))
})

t.test('Audit search: a page has a limit, compares some events, and says where the next one begins', async (t) => {
  const { found } = await openTrail(t, 250)
  const first = await found({ search: 'a-24', limit: 2 })
  t.equal(first.ids, 'a-249,a-248')
  t.equal((await found({ search: 'a-24', limit: 2, before: first.next })).ids, 'a-247,a-246')
  t.equal((await found({ limit: 2 })).ids, 'a-249,a-248')
  const compared = await found({ search: 'north' }, 1)
  t.equal(compared.ids, '')
  t.match(await found({ search: 'a-149', before: compared.next, limit: 1 }, 1), { ids: 'a-149', next: Number })
  t.strictSame(await found({ search: 'north' }, 3), { ids: 'north', next: undefined }, 'the last step is not full')
})
