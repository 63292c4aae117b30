import type { Test } from 'tap'
import type { Audit, AuditEvent } from '../../../src/domain/audit-event.ts'
import { NOT_SHOWN_YET } from '../../../src/domain/secret.ts'
import { type Store, StoreUnavailable } from '../../../src/domain/store.ts'
import { AUDIT } from '../../support/audit.ts'
import { application, suite } from '../../support/newcomers.ts'
import { START } from '../../support/world.ts'
import { type Harness, IMPORTED, onEmptyStore, PAGE, register, SECRET, secretIdOf } from './harness.ts'

const TIME = new Date(START).toISOString()

/** The public fields of a secret that was created at the start. */
const GENERATED = { id: Number, origin: 'generated', created_at: TIME, ends_at: null, revoked_at: null }

/** An action of an operator, and the event it causes. */
type Case = [make: () => Promise<unknown>, event: Partial<AuditEvent> | undefined]

const ofApplication = (action: string, before: object | null, after: object | null) => ({
  action,
  subject: { kind: 'application', id: 'a' } as const,
  before: before as AuditEvent['before'],
  after: after as AuditEvent['after'],
})
const ofSuite = (action: string, before: object | null, after: object | null) => ({
  ...ofApplication(action, before, after),
  subject: { kind: 'suite', id: 'store' } as const,
})

/** Every change is one event, in the same transaction. */
export function auditConformance(t: Test, harness: Harness): void {
  const { openWithoutAudit } = harness
  const test = onEmptyStore(t, harness)

  test('Audit: each change is one event with the fields before and after, and without secrets', async (t, store) => {
    const at = (time: number) => new Date(time).toISOString()
    const shown = {
      client_id: 'a',
      name: 'Application a',
      developer_email: 'developer@partner.example',
      status: 'active',
      suites: ['store'],
      created_at: TIME,
      tokens_valid_from: null,
      secrets: [GENERATED],
    }
    const shownSuite = { id: 'store', name: 'Suite store', created_at: TIME, secrets: [GENERATED] }
    const imported = { digest: IMPORTED, createdAt: START + 2 }
    const cases: Case[] = [
      [
        () => store.register({ suites: [suite('store')], applications: [] }, AUDIT),
        ofSuite('suite registered', null, shownSuite),
      ],
      [
        () => store.register({ suites: [], applications: [application('a', { suites: 'all' })] }, AUDIT),
        ofApplication('application registered', null, shown),
      ],
      [
        () => store.setStatus('a', 'suspended', AUDIT),
        ofApplication('application suspended', { status: 'active' }, { status: 'suspended' }),
      ],
      [() => store.setStatus('a', 'suspended', AUDIT), undefined],
      [
        () => store.setStatus('a', 'active', AUDIT),
        ofApplication('application resumed', { status: 'suspended' }, { status: 'active' }),
      ],
      [
        () => store.updateApplication('a', { name: 'Ünï "new" ✓' }, AUDIT),
        ofApplication('application updated', { name: 'Application a' }, { name: 'Ünï "new" ✓' }),
      ],
      [() => store.updateApplication('a', { name: 'Ünï "new" ✓' }, AUDIT), undefined],
      [
        () => store.withdraw('a', 'store', AUDIT),
        ofApplication('approval withdrawn', { suites: ['store'] }, { suites: [] }),
      ],
      [() => store.withdraw('a', 'store', AUDIT), undefined],
      [
        () => store.approve('a', 'store', AUDIT),
        ofApplication('application approved', { suites: [] }, { suites: ['store'] }),
      ],
      [() => store.approve('a', 'store', AUDIT), undefined],
      [() => store.approve('a', 'nowhere', AUDIT), undefined],
      [
        () => store.revokeTokens('a', START + 5, AUDIT),
        ofApplication('all tokens revoked', { tokens_valid_from: null }, { tokens_valid_from: at(START + 5) }),
      ],
      [() => store.revokeTokens('a', START + 5, AUDIT), ofApplication('all tokens revoked', {}, {})],
      [
        () => store.rotateSecret('a', SECRET, START + 9, 0, AUDIT),
        ofApplication(
          'secret rotated',
          { secrets: [GENERATED] },
          {
            secrets: [
              { ...GENERATED, ends_at: at(START + 9) },
              { ...GENERATED, created_at: at(START + 1) },
            ],
          },
        ),
      ],
      [
        async () => store.revokeSecret('a', await secretIdOf(store, 'a'), START + 7, AUDIT),
        ofApplication(
          'secret revoked',
          { secrets: [{ ...GENERATED, ends_at: at(START + 9) }] },
          { secrets: [{ ...GENERATED, ends_at: at(START + 7), revoked_at: at(START + 7) }] },
        ),
      ],
      [async () => store.revokeSecret('a', await secretIdOf(store, 'a'), START + 8, AUDIT), undefined],
      [() => store.revokeSecret('a', 999_999, START + 8, AUDIT), undefined],
      [
        () => store.addSecret('a', imported, AUDIT),
        ofApplication(
          'secret added',
          { secrets: [] },
          { secrets: [{ ...GENERATED, origin: 'imported', created_at: at(START + 2) }] },
        ),
      ],
      [
        () => store.updateSuite('store', { name: 'New' }, AUDIT),
        ofSuite('suite updated', { name: 'Suite store' }, { name: 'New' }),
      ],
      [() => store.updateSuite('store', { name: 'New' }, AUDIT), undefined],
      [
        () => store.rotateSecret('store', SECRET, START + 9, 0, AUDIT),
        ofSuite('secret rotated', { secrets: [GENERATED] }, { secrets: [{ ends_at: at(START + 9) }, {}] }),
      ],
      [
        () => store.removeApplication('a', AUDIT),
        ofApplication(
          'application removed',
          { ...shown, name: 'Ünï "new" ✓', tokens_valid_from: at(START + 5), secrets: [{}, {}, {}] },
          null,
        ),
      ],
      [
        () => store.removeSuite('store', AUDIT),
        ofSuite('suite removed', { ...shownSuite, name: 'New', secrets: [{}, {}] }, null),
      ],
      ...[
        () => store.removeApplication('a', AUDIT),
        () => store.removeSuite('store', AUDIT),
        () => store.setStatus('a', 'active', AUDIT),
        () => store.updateApplication('a', { name: 'B' }, AUDIT),
        () => store.updateSuite('store', { name: 'B' }, AUDIT),
        () => store.revokeTokens('a', START, AUDIT),
        () => store.addSecret('a', SECRET, AUDIT),
        () => store.rotateSecret('a', SECRET, START, START, AUDIT),
      ].map((make): Case => [make, undefined]),
    ]
    for (const [make, expected] of cases) {
      const before = await store.listAuditEvents(PAGE)
      await make()
      const [event, ...others] = await store.listAuditEvents(PAGE)
      const what = `${expected?.action}: ${make}`
      if (expected === undefined) t.strictSame([event, ...others].filter(Boolean), before, what)
      else {
        t.strictSame(others, before, what)
        t.match(event, { ...expected, at: AUDIT.at, actor: 'tester', origin: 'command line' }, what)
        t.strictSame(fieldsOf(event), fieldsOf(expected), what)
      }
    }
    t.notMatch(JSON.stringify(await store.listAuditEvents(PAGE)), /DIGEST|digest|sha256|scrypt|"key"|generation/i)
  })

  test('Audit: an event lists only the suites that were added or removed', async (t, store) => {
    const ids = ['one', 'two', 'three']
    await store.register({ suites: ids.map(suite), applications: [application('a')] }, AUDIT)
    for (const id of ids) await store.approve('a', id, AUDIT)
    const newest = async () => (await store.listAuditEvents({ limit: 1 })).map(({ before, after }) => [before, after])
    t.strictSame(await newest(), [[{ suites: [] }, { suites: ['three'] }]])
    await store.withdraw('a', 'two', AUDIT)
    t.strictSame(await newest(), [[{ suites: ['two'] }, { suites: [] }]])
  })

  test('Audit: an event has the author, the time and the address', async (t, store) => {
    const author = { actor: 'Ünï "o" ✓', origin: 'API', remoteAddress: '2001:db8::1', requestId: 'r-1' } as const
    await store.register({ suites: [suite('store')], applications: [] }, { author, at: START - 77 })
    await store.updateSuite('store', { name: 'New' }, AUDIT)
    const [second, first] = await store.listAuditEvents(PAGE)
    t.match(first, { ...author, at: START - 77 })
    t.match(second, AUDIT.author)
    t.equal(second?.requestId, undefined)
    t.ok(Number(second?.id) > Number(first?.id))
  })

  test('Audit: a bulk registration has one event for each subject added, and none for skipped ones', async (t, store) => {
    await store.register({ suites: [suite('store')], applications: [application('a0')] }, AUDIT)
    const namesake = application('namesake', { name: 'Application a0', skipNamesake: true })
    const many = Array.from({ length: 100 }, (_, n) => application(`a${n}`, { suites: 'all' }))
    const twin = application('a7', { name: 'Twin' })
    const newcomers = { suites: [suite('store'), suite('b')], applications: [...many, twin, namesake] }
    await store.register(newcomers, AUDIT)
    const events = await store.listAuditEvents(PAGE)
    t.equal(events.length, 2 + 1 + 99)
    t.strictSame(
      events.toReversed().map(({ subject }) => subject.id),
      ['store', 'a0', 'b', ...many.slice(1).map(({ clientId }) => clientId)],
    )
    t.match(events[99 - 7], { subject: { id: 'a7' }, after: { name: 'Application a7', suites: ['store', 'b'] } })
  })

  test('Audit: activating a new secret is part of its registration, and no separate event', async (t, store) => {
    const secret = { ...SECRET, endsAt: NOT_SHOWN_YET }
    await register(store, application('a', { secret }))
    await store.startSecrets(['a'])
    t.match(await store.findApplication('a'), { secrets: [{ endsAt: null }] })
    t.equal((await store.listAuditEvents(PAGE)).length, 1)
  })

  test('Audit: events are listed newest first, page by page, and by time, actor and subject', async (t, store) => {
    const by = (actor: string, at: number): Audit => ({ author: { ...AUDIT.author, actor }, at })
    await store.register({ suites: [suite('x')], applications: [application('a'), application('b')] }, by('one', START))
    await store.setStatus('a', 'suspended', by('two', START + 10))
    await store.setStatus('a', 'active', by('one', START + 10))
    // The clock of this author is behind.
    await store.setStatus('b', 'suspended', by('two', START + 5))
    const all = await store.listAuditEvents(PAGE)
    const named = all.map(({ action, subject }) => `${action} ${subject.id}`)
    t.strictSame(named, [
      'application suspended b',
      'application resumed a',
      'application suspended a',
      'application registered b',
      'application registered a',
      'suite registered x',
    ])
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
      t.strictSame(
        found,
        expected.map((at) => all[at]),
        JSON.stringify(filter),
      )
    }
  })

  test('Audit: old events are purged, oldest first, up to the limit', async (t, store) => {
    const at = (time: number): Audit => ({ ...AUDIT, at: time })
    for (const n of [3, 1, 2, 4]) {
      await store.register({ suites: [suite(`s${n}`)], applications: [] }, at(START + n))
    }
    const left = async () => (await store.listAuditEvents(PAGE)).map(({ subject }) => subject.id)
    t.equal(await store.purgeAuditEvents(START + 1, 10), 0)
    t.equal(await store.purgeAuditEvents(START + 4, 2), 2)
    t.strictSame(await left(), ['s4', 's3'], 'the oldest first')
    t.equal(await store.purgeAuditEvents(START + 4, 2), 1)
    t.equal(await store.purgeAuditEvents(START + 4, 2), 0)
    t.strictSame(await left(), ['s4'])
  })

  t.test(
    'Audit: if the event cannot be stored, nothing is changed',
    { skip: !openWithoutAudit && 'its rows cannot be refused here' },
    async (t) => {
      const { store, refuse, accept } = await (openWithoutAudit as NonNullable<typeof openWithoutAudit>)(t)
      await store.register({ suites: [suite('store'), suite('other')], applications: [application('a')] }, AUDIT)
      await store.approve('a', 'other', AUDIT)
      const state = async () => [
        await store.listApplications(PAGE),
        await store.listSuites(PAGE),
        await store.listAuditEvents(PAGE),
      ]
      const before = await state()
      const secretId = await secretIdOf(store, 'a')
      await refuse()
      for (const change of changesOf(store, secretId)) {
        await t.rejects(change(), StoreUnavailable, String(change))
        t.strictSame(await state(), before, String(change))
      }
      await accept()
      for (const change of changesOf(store, secretId)) {
        const [, , events] = await state()
        await change()
        t.ok(((await state())[2] as AuditEvent[]).length > (events as AuditEvent[]).length, String(change))
      }
    },
  )
}

/** One call of every audited method, in an order in which each one succeeds. */
function changesOf(store: Store, secretId: number): (() => Promise<unknown>)[] {
  return [
    () => store.register({ suites: [suite('new')], applications: [application('new')] }, AUDIT),
    () => store.updateApplication('a', { name: 'New' }, AUDIT),
    () => store.setStatus('a', 'suspended', AUDIT),
    () => store.approve('a', 'store', AUDIT),
    () => store.withdraw('a', 'other', AUDIT),
    () => store.revokeTokens('a', START, AUDIT),
    () => store.addSecret('a', SECRET, AUDIT),
    () => store.rotateSecret('a', SECRET, START + 2, 0, AUDIT),
    () => store.revokeSecret('a', secretId, START + 1, AUDIT),
    () => store.updateSuite('store', { name: 'New' }, AUDIT),
    () => store.removeApplication('a', AUDIT),
    () => store.removeSuite('store', AUDIT),
  ]
}

/** The names of the fields in `before` and `after`. */
function fieldsOf(event: Partial<AuditEvent> | undefined): (string[] | null)[] {
  return [event?.before, event?.after].map((fields) => (fields ? Object.keys(fields).sort() : null))
}
