import type { Test } from 'tap'
import { type Application, columnsOf, TEXT_COLUMNS } from '../../../src/domain/application.ts'
import {
  type Audit,
  type AuditEvent,
  type Author,
  IdempotencyKeyTaken,
  versionOf,
} from '../../../src/domain/audit-event.ts'
import { StoreUnavailable } from '../../../src/domain/store.ts'
import { PUBLIC_FIELDS } from '../../../src/views/registry.ts'
import { application, suite } from '../../support/newcomers.ts'
import { AUDIT, on } from '../../support/on.ts'
import { START } from '../../support/world.ts'
import {
  changesOf,
  type Harness,
  IMPORTED,
  idsOf,
  onEmptyStore,
  PAGE,
  register,
  registerSuites,
  SECRET,
  secretIdOf,
} from './harness.ts'

const DAY = 24 * 3_600_000
const TIME = new Date(START).toISOString()

/** The public fields of a secret that was created at the start. */
const GENERATED = { id: Number, origin: 'generated', created_at: TIME, ends_at: null, revoked_at: null }

/** Fields before and after. */
type Fields = Record<string, [before: unknown, after: unknown]>

type Sides = Fields | { added: object } | { removed: object }

/** An action of an operator, and the event that it causes, if any: what happened to which application or suite, and when. */
type Case = [make: () => Promise<unknown>, event?: string, fields?: Sides, at?: number]

/** Audit with another author or time. */
const by = (author: Partial<Author>, at = START): Audit => ({ ...AUDIT, author: { ...AUDIT.author, ...author }, at })

const MISMATCH = { message: /If-Match/ }

/** Every change is one event, in the same transaction. */
export function auditConformance(t: Test, harness: Harness): void {
  const { openWithoutAudit } = harness
  const test = onEmptyStore(t, harness)

  test('Audit: each change is one event with the fields before and after, and without secrets', async (t, store) => {
    const at = (time: number) => new Date(START + time).toISOString()
    const shown = {
      ...{ client_id: 'a', ...columnsOf(application('a'), TEXT_COLUMNS), status: 'active' },
      ...{ suites: ['store'], created_at: TIME, tokens_valid_from: null, secrets: [GENERATED] },
      ...{ labels: {}, quota: null, source_addresses: [], public_labels: [], report_only: [], federated: [] },
    }
    const ofSuite = {
      id: 'store',
      name: 'Suite store',
      url: '',
      created_at: TIME,
      labels: {},
      note: '',
      managed_by: '',
      secrets: [GENERATED],
    }
    const name = 'Ünï "new" ✓'
    const ended = { ...GENERATED, ends_at: at(9) }
    const rotated = { secrets: [[GENERATED], [ended, { ...GENERATED, created_at: at(1) }]] } satisfies Fields
    const revoked = { ...GENERATED, ends_at: at(7), revoked_at: at(7) }
    const added = { ...GENERATED, origin: 'imported', created_at: at(2) }
    const labels = { owner: 'web' }
    const last = {
      ...shown,
      name,
      labels,
      quota: 9,
      source_addresses: ['::1'],
      tokens_valid_from: at(5),
      secrets: [{}, {}, {}],
    }
    const lastSuite = { ...ofSuite, name, secrets: [{}, {}] }
    const rotate = async (id: string) => on(store).rotateSecret(id, SECRET, START + 9, 0)
    const revoke = async (time: number) => on(store).revokeSecret('a', await secretIdOf(store, 'a'), START + time)
    const add = async () => on(store).addSecret('a', { digest: IMPORTED, createdAt: START + 2 })
    const revokeAll = () => on(store).revokeTokens('a', START + 5)
    const label = () => on(store).updateApplication('a', { labels, quota: 9, sourceAddresses: ['::1'] })
    const cases: Case[] = [
      [() => registerSuites(store, 'store'), 'suite registered store', { added: ofSuite }],
      [() => register(store, application('a', { suites: 'all' })), 'application registered a', { added: shown }],
      [() => on(store).setStatus('a', 'suspended'), 'application suspended a', { status: ['active', 'suspended'] }],
      [() => on(store).setStatus('a', 'suspended')],
      [() => on(store).setStatus('a', 'active'), 'application resumed a', { status: ['suspended', 'active'] }],
      [() => on(store).updateApplication('a', { name }), 'application updated a', { name: ['Application a', name] }],
      [() => on(store).updateApplication('a', { name })],
      [label, 'application updated a', { labels: [{}, labels], quota: [null, 9], source_addresses: [[], ['::1']] }],
      [() => on(store).withdraw('a', 'store'), 'approval withdrawn a', { suites: [['store'], []] }],
      [() => on(store).withdraw('a', 'store')],
      [() => on(store).approve('a', 'store'), 'application approved a', { suites: [[], ['store']] }],
      [() => on(store).approve('a', 'store')],
      [() => on(store).approve('a', 'nowhere')],
      [revokeAll, 'all tokens revoked a', { tokens_valid_from: [null, at(5)] }, START + 5],
      [revokeAll, 'all tokens revoked a', {}, START + 5],
      [() => rotate('a'), 'secret rotated a', rotated],
      [() => revoke(7), 'secret revoked a', { secrets: [[ended], [revoked]] }, START + 7],
      [() => revoke(8)],
      [() => on(store).revokeSecret('a', 999_999, START + 8)],
      [() => add(), 'secret added a', { secrets: [[], [added]] }],
      [() => on(store).updateSuite('store', { name }), 'suite updated store', { name: ['Suite store', name] }],
      [() => on(store).updateSuite('store', { name })],
      [() => rotate('store'), 'secret rotated store', rotated],
      [() => on(store).removeApplication('a'), 'application removed a', { removed: last }],
      [() => on(store).removeSuite('store'), 'suite removed store', { removed: lastSuite }],
    ]
    for (const [make, expected, fields = {}, time = AUDIT.at] of cases) {
      const earlier = await store.listAuditEvents(PAGE)
      await make()
      const events = await store.listAuditEvents(PAGE)
      const what = `${expected}: ${make}`
      t.strictSame(events.slice(expected ? 1 : 0), earlier, what)
      if (expected === undefined) continue
      const { action, subject } = events[0] as AuditEvent
      t.equal(`${action} ${subject.id}`, expected)
      t.equal(subject.kind, subject.id === 'a' ? 'application' : 'suite')
      const sides = sidesOf(fields)
      t.match(events[0], { ...sides, at: time, actor: 'tester', origin: 'command line' }, what)
      t.strictSame(namesOf(events[0]), namesOf(sides), what)
    }
    t.notMatch(JSON.stringify(await store.listAuditEvents(PAGE)), /DIGEST|digest|sha256|scrypt|"key"|generation/i)
  })

  test('Audit: an event has the author, the time and the address, and only the suites that were added or removed', async (t, store) => {
    const ids = ['one', 'two', 'three']
    const author = { actor: 'Ünï "o" ✓', origin: 'API', remoteAddress: '2001:db8::1', requestId: 'r-1' } as const
    await store.register({ suites: ids.map(suite), applications: [application('a')] }, by(author, START - 77))
    await on(store).updateSuite('one', { name: 'New' })
    const [second, first] = await store.listAuditEvents(PAGE)
    t.match(first, { ...author, at: START - 77 })
    t.match(second, AUDIT.author)
    t.equal(second?.requestId, undefined)
    t.ok(Number(second?.id) > Number(first?.id))
    for (const id of ids) await on(store).approve('a', id)
    const newest = async () => (await store.listAuditEvents({ limit: 1 })).map(({ before, after }) => [before, after])
    t.strictSame(await newest(), [[{ suites: [] }, { suites: ['three'] }]])
    await on(store).withdraw('a', 'two')
    t.strictSame(await newest(), [[{ suites: ['two'] }, { suites: [] }]])
  })

  test('Audit: several values of an application are set in one event, only in the state that is named, or as a trial', async (t, store) => {
    await registerSuites(store, 'one', 'two', 'three')
    await register(store, application('a', { suites: ['one', 'two'] }))
    const set = (audit: Partial<Audit> = {}) => {
      const to = { values: { name: 'New' }, status: 'suspended', suites: ['two', 'three', 'nowhere'] } as const
      return store.change({ type: 'application updated', clientId: 'a', ...to }, { ...AUDIT, ...audit })
    }
    const state = async () => [await store.findApplication('a'), await store.listAuditEvents(PAGE)]
    const before = await state()
    const difference = {
      fields: ['name', 'status', 'suites'],
      before: { name: 'Application a', status: 'active', suites: ['one'] },
      after: { name: 'New', status: 'suspended', suites: ['three'] },
    }
    t.match(await set({ isTrial: true }), { changed: true, ...difference })
    const version = versionOf(PUBLIC_FIELDS.application(before[0] as Application))
    await t.rejects(set({ onlyIf: [] }), MISMATCH)
    await t.rejects(set({ onlyIf: ['x'], isTrial: true }), MISMATCH)
    t.strictSame(await state(), before)
    t.match(await set({ onlyIf: ['x', version] }), { changed: true, ...difference })
    const [found, [event]] = (await state()) as [Application, AuditEvent[]]
    t.match(found, { name: 'New', status: 'suspended' })
    t.strictSame(new Set(found.suites), new Set(['two', 'three']))
    t.match(event, { action: 'application updated', before: difference.before, after: difference.after })
    t.match(await set({ onlyIf: ['*'] }), { changed: false, fields: [], before: null, after: null })
    await t.rejects(set({ onlyIf: [version] }), MISMATCH)
    await t.rejects(on(store).removeOperator('anna', { ...AUDIT, onlyIf: ['*'] }), MISMATCH, 'has no version')
    await register(store, 'b')
    const b = versionOf(PUBLIC_FIELDS.application((await store.findApplication('b')) as Application))
    const both = { type: 'application approved', clientIds: ['a', 'b'], suite: 'one' } as const
    await t.rejects(store.change(both, { ...AUDIT, onlyIf: [b] }), MISMATCH, 'each must have one of them')
  })

  test('Audit: a bulk registration has one event for each subject added, and none for skipped ones', async (t, store) => {
    await store.register({ suites: [suite('store')], applications: [application('a0')] }, AUDIT)
    const namesake = application('namesake', { name: 'Application a0', skipNamesake: true })
    const many = Array.from({ length: 100 }, (_, n) => application(`a${n}`, { suites: 'all' }))
    const twin = application('a7', { name: 'Twin' })
    const newcomers = { suites: [suite('store'), suite('b')], applications: [...many, twin, namesake] }
    await store.register(newcomers, AUDIT)
    const events = await store.listAuditEvents(PAGE)
    const ids = events.toReversed().map(({ subject }) => subject.id)
    t.strictSame(ids, ['store', 'a0', 'b', ...idsOf(many.slice(1))])
    t.match(events[99 - 7], { subject: { id: 'a7' }, after: { name: 'Application a7', suites: ['store', 'b'] } })
  })

  test('Audit: events are listed newest first, page by page, and by time, actor and subject', async (t, store) => {
    const [one, two] = [{ actor: 'one' }, { actor: 'two' }]
    await store.register({ suites: [suite('x')], applications: [application('a'), application('b')] }, by(one))
    await on(store).setStatus('a', 'suspended', by(two, START + 10))
    await on(store).setStatus('a', 'active', by(one, START + 10))
    // The clock of this author is behind.
    await on(store).setStatus('b', 'suspended', by(two, START + 5))
    const all = await store.listAuditEvents(PAGE)
    const named = all.map(({ action, subject }) => `${action.split(' ')[1]} ${subject.id}`)
    const expected = ['suspended b', 'resumed a', 'suspended a', 'registered b', 'registered a', 'registered x']
    t.strictSame(named, expected)
    for (const limit of [1, 2, 5]) {
      const paged: AuditEvent[] = []
      while (paged.length <= all.length) {
        const page = await store.listAuditEvents({ before: paged.at(-1)?.id, limit })
        t.ok(page.length <= limit)
        if (page.length === 0) break
        paged.push(...page)
      }
      t.strictSame(paged, all)
    }
    const filters: [filter: object, expected: number[]][] = [
      [{ since: START + 5 }, [0, 1, 2]],
      [{ since: START + 10 }, [1, 2]],
      [{ since: START + 11 }, []],
      [{ until: START }, []],
      [{ until: START + 5 }, [3, 4, 5]],
      [{ until: START + 10 }, [0, 3, 4, 5]],
      [{ until: START + 11 }, [0, 1, 2, 3, 4, 5]],
      [{ since: START + 5, until: START + 10 }, [0]],
      [{ until: START + 10, before: all[3]?.id }, [4, 5]],
      [{ actor: 'two', until: START + 10 }, [0]],
      [{ subject: 'a', until: START + 10 }, [4]],
      [{ actor: 'two' }, [0, 2]],
      [{ actor: 'nobody' }, []],
      [{ subject: 'a' }, [1, 2, 4]],
      [{ subject: 'A' }, []],
      [{ subject: 'a', kind: 'application' }, [1, 2, 4]],
      [{ subject: 'a', kind: 'operator' }, []],
      [{ subject: 'a', actor: 'one' }, [1, 4]],
      [{ subject: 'a', actor: 'one', since: START + 1 }, [1]],
      [{ subject: 'a', before: all[1]?.id }, [2, 4]],
      [{ actor: 'two', before: all[1]?.id, limit: 1 }, [2]],
      // An event that is not there.
      [{ before: 999_999 }, [0, 1, 2, 3, 4, 5]],
    ]
    for (const [filter, expected] of filters) {
      const found = await store.listAuditEvents({ ...PAGE, ...filter })
      const at = found.map(({ id }) => all.findIndex((event) => event.id === id))
      t.strictSame(at, expected, JSON.stringify(filter))
    }
  })

  test('Audit: each event keeps the email address that its author had, and is found by it and by the name', async (t, store) => {
    const name = 'https://login.example#7'
    const [own, root] = [by({ actor: name }), by({ actor: 'root' })]
    const person = { operator: name, role: 'admin', email: 'anna@a.example' } as const
    await store.change({ type: 'operator added', ...person }, own)
    await register(store, 'a')
    await on(store).setStatus('a', 'suspended', own)
    await store.change({ type: 'operator updated', ...person, email: 'anna@b.example' }, root)
    await on(store).setStatus('a', 'active', own)
    await on(store).removeOperator(name, own)
    // A request that was under way.
    await on(store).revokeTokens('a', START, own)
    const found = async (filter: object) =>
      (await store.listAuditEvents({ ...PAGE, ...filter })).map(({ action, actorEmail }) => `${action} ${actorEmail}`)
    const [early, late] = [
      ['application suspended anna@a.example', 'operator added anna@a.example'],
      ['all tokens revoked anna@b.example', 'operator removed anna@b.example', 'application resumed anna@b.example'],
    ] as const
    t.strictSame(await found({ actor: name }), [...late, ...early])
    t.strictSame(await found({ actor: 'anna@a.example' }), early)
    t.strictSame(await found({ actor: 'anna@b.example' }), late)
    t.strictSame(await found({ actor: 'anna@b.example', limit: 1 }), late.slice(0, 1))
    t.strictSame(await found({ actor: 'anna@b.example', subject: 'a' }), [late[0], late[2]])
    t.strictSame(await found({ actor: 'root' }), ['operator updated null'])
  })

  test('Audit: a user name at the identity provider that is the name of an operator finds only that operator', async (t, store) => {
    const person = 'https://login.example#7'
    const asked = (actor: string) => by({ actor, requestId: 'r' })
    await store.change({ type: 'operator added', operator: person, role: 'admin', email: 'ann' }, asked('root'))
    await on(store).addOperator({ name: 'ann', role: 'admin', createdAt: START }, asked('root'))
    await register(store, 'a')
    await on(store).setStatus('a', 'suspended', asked(person))
    await on(store).setStatus('a', 'active', asked('ann'))
    for (const filter of [{}, { grouped: true }, { subject: 'a' }, { requestId: 'r' }]) {
      const found = await store.listAuditEvents({ ...PAGE, ...filter, actor: 'ann' })
      const said = found.map(({ actor, action }) => `${actor} ${action}`)
      t.strictSame(said, ['ann application resumed'], JSON.stringify(filter))
    }
  })

  test('Audit: acknowledged warnings are events of their own, and found by their time, newest first', async (t, store) => {
    const warning = (id: string) => ({ id, name: `Name of ${id}`, detail: 'Why.' })
    await store.acknowledge([warning('a'), warning('b')], by({ actor: 'anna' }))
    await store.acknowledge([warning('c')], by({ actor: 'anna' }, START + 5))
    t.strictSame(await store.listAcknowledged(START - 1, 10), ['c', 'b', 'a'])
    t.strictSame(await store.listAcknowledged(START - 1, 2), ['c', 'b'])
    t.strictSame(await store.listAcknowledged(START, 10), ['c'])
    const [newest] = await store.listAuditEvents(PAGE)
    t.match(newest, { action: 'warning acknowledged', actor: 'anna', subject: { kind: 'warning', id: 'c' } })
    t.strictSame([newest?.before, newest?.after], [null, { name: 'Name of c', detail: 'Why.' }])
  })

  test('Audit: a change of many in one request can be listed as one event, with their number', async (t, store) => {
    const asked = (requestId?: string, at = START, actor = 'anna') => by({ actor, requestId }, at)
    await registerSuites(store, 'one', 'two')
    await register(store, 'a', 'b', 'c')
    const approve = (clientIds: string[], suite: string, audit: Audit) =>
      store.change({ type: 'application approved', clientIds, suite }, audit)
    await approve(['a', 'b'], 'one', asked('r1'))
    // In two transactions, one after another.
    await approve(['a'], 'two', asked('r2'))
    await approve(['b', 'c'], 'two', asked('r2'))
    await approve(['c'], 'one', asked('r2', START + 1, 'bert'))
    await store.change({ type: 'approval withdrawn', clientIds: ['a', 'b', 'c'], suite: 'one' }, asked())
    await approve(['a'], 'one', asked('r3'))
    await store.change({ type: 'approval withdrawn', clientIds: ['a'], suite: 'two' }, asked('r3'))
    // Of one application, for two suites.
    await approve(['a'], 'two', asked('r4'))
    await store.change({ type: 'approval withdrawn', clientIds: ['a'], suite: 'one' }, asked())
    await approve(['a'], 'one', asked('r4'))
    const found = async (filter: object) =>
      (await store.listAuditEvents({ ...PAGE, ...filter })).map(
        (one) => `${one.requestId} ${one.subject.id} ${one.count}`,
      )
    const groups = await found({ grouped: true, limit: 11 })
    t.strictSame(groups.slice(0, 5), ['r4 a 1', 'undefined a 1', 'r4 a 1', 'r3 a 1', 'r3 a 1'])
    t.strictSame(groups.slice(5, 11), ['undefined c 1', 'undefined b 1', 'undefined a 1', 'r2 c 1', 'r2 c 3', 'r1 b 2'])
    t.strictSame((await found({ grouped: true, actor: 'anna' })).slice(-2), ['r2 c 3', 'r1 b 2'])
    t.strictSame(await found({ grouped: true, actor: 'bert' }), ['r2 c 1'])
    t.strictSame(await found({ requestId: 'r2' }), ['r2 c 1', 'r2 c 1', 'r2 b 1', 'r2 a 1'])
    t.strictSame(await found({ requestId: 'r2', actor: 'bert' }), ['r2 c 1'])
    t.strictSame(await found({ requestId: 'r2', subject: 'b' }), ['r2 b 1'])
    t.strictSame(await found({ requestId: 'R2' }), [])
  })

  test('Store: a change of approvals is undone only for applications that nothing else has changed', async (t, store) => {
    const asked = (requestId: string) => by({ requestId })
    await registerSuites(store, 'one', 'two')
    await register(store, 'a', 'b', 'c', 'd', 'e')
    const all = ['a', 'b', 'c', 'd', 'e', 'gone']
    await store.change({ type: 'application approved', clientIds: all, suite: 'one' }, asked('r1'))
    const [{ id: undoes }] = (await store.listAuditEvents({ limit: 1 })) as [AuditEvent]
    await on(store).updateApplication('b', { name: 'New' })
    await on(store).withdraw('c', 'one')
    await on(store).removeApplication('d')
    // An event of another subject with this id.
    await on(store).addOperator({ name: 'a', role: 'viewer', createdAt: START })
    const undo = { type: 'approval withdrawn', clientIds: all, suite: 'one', undoes } as const
    t.strictSame((await store.change(undo, asked('r2'))).subjects, ['a', 'e'])
    t.strictSame((await store.findApplication('b'))?.suites, ['one'])
    t.strictSame((await store.change(undo, asked('r3'))).subjects, [], 'only once')
    const [{ id }] = (await store.listAuditEvents({ limit: 1 })) as [AuditEvent]
    const redo = { type: 'application approved', clientIds: all, suite: 'one', undoes: id } as const
    t.strictSame((await store.change(redo, asked('r4'))).subjects, ['a', 'e'])
    t.strictSame((await store.findApplication('c'))?.suites, [])
  })

  const auditOf = (sealed: string, at = START) => ({ ...AUDIT, at, idempotency: { digest: 'd', sealed } })

  test('Store: a change with an idempotency record is made once, and its answer kept for a day', async (t, store) => {
    await register(store, 'a')
    t.equal(await on(store).rotateSecret('nobody', SECRET, START, 0, auditOf('x')), false)
    const newcomers = { suites: [], applications: [application('a')] }
    t.strictSame(await store.register(newcomers, auditOf('x')), { suites: [], applications: [] })
    t.equal(await store.findSealedAnswer('d', 0), undefined, 'where nothing changed there is none')
    await on(store).rotateSecret('a', SECRET, START + 9, 0, auditOf('first'))
    t.equal(await store.findSealedAnswer('d', START - 1), 'first')
    t.equal(await store.findSealedAnswer('d', START), undefined, 'it is too old')
    const before = await store.findApplication('a')
    const again = on(store).rotateSecret('a', SECRET, START, 0, auditOf('second', START + DAY - 1))
    await t.rejects(again, IdempotencyKeyTaken)
    t.strictSame(await store.findApplication('a'), before)
    t.equal(await store.findSealedAnswer('d', START - 1), 'first')
    await on(store).rotateSecret('a', SECRET, START + 9, 0, auditOf('third', START + DAY))
    t.equal(await store.findSealedAnswer('d', START), 'third')
  })

  const skip = !openWithoutAudit && 'its rows cannot be refused here'
  t.test('Audit: if the event cannot be stored, nothing is changed', { skip }, async (t) => {
    const { store, refuse, accept } = await (openWithoutAudit as NonNullable<typeof openWithoutAudit>)(t)
    await store.register({ suites: [suite('store')], applications: [application('a')] }, AUDIT)
    const changes: Record<string, () => Promise<unknown>> = changesOf(store, { secretId: await secretIdOf(store, 'a') })
    const count = async () => (await store.listAuditEvents(PAGE)).length
    const state = async () => [await store.listApplications(PAGE), await store.listSuites(PAGE), await count()]
    for (const [name, change] of Object.entries(changes)) {
      const before = await state()
      await refuse()
      await t.rejects(change(), StoreUnavailable, name)
      t.strictSame(await state(), before, name)
      await accept()
      await change()
      t.ok((await count()) > Number(before[2]), name)
    }
  })
}

function sidesOf(fields: Sides) {
  if ('added' in fields) return { before: null, after: fields.added }
  if ('removed' in fields) return { before: fields.removed, after: null }
  const side = (n: 0 | 1) => Object.fromEntries(Object.entries(fields).map(([name, sides]) => [name, sides[n]]))
  return { before: side(0), after: side(1) }
}

/** The names of the fields in `before` and `after`. */
function namesOf({ before, after }: { before?: object | null; after?: object | null } = {}) {
  return [before, after].map((fields) => (fields ? Object.keys(fields).sort() : null))
}
