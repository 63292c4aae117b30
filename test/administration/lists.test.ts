import { setImmediate as aTurn } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { createAdministration } from '../../src/administration/administration.ts'
import { firstOf } from '../../src/administration/pages.ts'
import { MANY_APPROVED } from '../../src/administration/suites.ts'
import { OperatorError } from '../../src/domain/operator-error.ts'
import type { Store } from '../../src/domain/store.ts'
import { AUTHOR, on } from '../support/on.ts'
import { aRegistration } from '../support/registration.ts'
import { createWorld, createWorldOfSuites, START } from '../support/world.ts'

const HOUR = 3_600_000
const EMAIL = 'dev@partner.example'

/** A store with these applications, oldest first, and a search on it. `change` wraps methods of the store. */
async function setting(
  t: Test,
  seeds: { clientId: string; name?: string; developerEmail?: string }[],
  change: (store: Store) => Partial<Store> = () => ({}),
) {
  const world = await createWorld(t)
  await world.administration.remove(world.credentials.client_id)
  await world.administration.seed({
    suites: [],
    applications: seeds.map((seed) =>
      aRegistration({ name: `Name of ${seed.clientId}`, developerEmail: EMAIL, ...seed }),
    ),
  })
  const store = { ...world.store, ...change(world.store) }
  const now = () => world.clock.time
  return { ...world, ...createAdministration({ store, now, observe: () => {}, author: AUTHOR }) }
}

const numbered = (count: number) => Array.from({ length: count }, (_, n) => ({ clientId: `a-${n}` }))
const idsOf = (rows: { clientId: string }[]) => rows.map(({ clientId }) => clientId)

t.test('Lists: applications have their tokens of the last 60 minutes and those before, in a search too', async (t) => {
  const { administration, credentials, token, clock, flushUsage } = await createWorld(t)
  await administration.register({ name: 'Other', developerEmail: EMAIL })
  clock.time += 7 * 60_000
  const steps: [hours: number, tokens: number, counts: [number, number], why: string][] = [
    [0, 0, [0, 0], 'no token yet'],
    [0, 2, [2, 0], 'now'],
    [0.8, 0, [2, 0], 'in the next clock hour'],
    [0.2, 0, [0, 2], 'an hour ago'],
    [0, 3, [3, 2], 'both'],
    [-1, 0, [2, 0], 'what a clock that was ahead has counted is not'],
    [2, 0, [0, 3], 'an hour later'],
  ]
  const found = async (text: string) => (await administration.search({ text, limit: 1 })).applications
  for (const [hours, tokens, [tokensThisHour, tokensLastHour], why] of steps) {
    clock.time += hours * HOUR
    for (let n = 0; n < tokens; n++) await token()
    await flushUsage()
    const none = { tokensThisHour: 0, tokensLastHour: 0 }
    t.match(await administration.list(), [{ tokensThisHour, tokensLastHour }, none], why)
    t.match(await found(credentials.client_id), [{ tokensThisHour, tokensLastHour }], why)
  }
  t.match(await found(credentials.client_id), [{ lastTokenAt: clock.time - HOUR }])
  t.match(await found('Other'), [{ lastTokenAt: undefined }])
})

t.test(
  'Suites: a page has secrets and the number of approved applications; one for programs has a cursor',
  async (t) => {
    const { administration, clock } = await createWorldOfSuites(t)
    await administration.rotateSecret('store', 0)
    clock.time += 1
    const { suites } = await administration.browseSuites({ sort: '', from: 0, limit: 2 })
    t.match(suites, [
      { suiteId: 'store', approved: 1, secrets: [{ state: 'revoked' }, { state: 'active' }] },
      { suiteId: 'product-information', approved: 0, secrets: { length: 1 } },
    ])
    const first = await administration.listPage({ limit: 1 })
    t.match(first.rows, [{ suiteId: 'store' }])
    const second = await administration.listPage({ after: first.next, limit: 1 })
    t.match(second.rows, [{ suiteId: 'product-information' }])
    t.equal(second.next, undefined)
    await t.rejects(administration.listPage({ after: 'nonsense', limit: 1 }), OperatorError)
    const more = Array.from({ length: 501 }, (_, n) => ({ suiteId: `suite-${n}`, name: 'Suite' }))
    await administration.seed({ suites: more, applications: [] })
    const all = ['store', 'product-information', ...more.map(({ suiteId }) => suiteId)]
    const listed = (await administration.listSuites()).map(({ suiteId }) => suiteId)
    t.strictSame(listed, all, 'without pages all are listed')
  },
)

t.test('Suites: approved applications are counted up to a limit on a page, and in full for one suite', async (t) => {
  const { administration } = await createWorldOfSuites(t)
  const others = numbered(MANY_APPROVED + 1).map((one) => aRegistration({ ...one, suites: ['store'] }))
  await administration.seed({ suites: [], applications: others })
  t.equal((await administration.browseSuites({ sort: '', from: 0, limit: 1 })).suites[0]?.approved, MANY_APPROVED)
  t.equal(await administration.countApproved('store'), MANY_APPROVED + 2)
})

t.test('Search: pages list every application once, newest first', async (t) => {
  const { applications, administration } = await setting(t, numbered(5))
  const first = await applications.search({ limit: 2 })
  t.strictSame(idsOf(first.applications), ['a-4', 'a-3'])
  await administration.remove('a-3')
  await administration.register({ name: 'New', developerEmail: EMAIL, clientId: 'new' })
  const second = await applications.search({ limit: 2, after: first.next })
  t.strictSame(idsOf(second.applications), ['a-2', 'a-1'], 'also if the last one was removed and new ones were added')
  const third = await applications.search({ limit: 2, after: second.next })
  t.strictSame([idsOf(third.applications), third.next], [['a-0'], undefined])
  t.equal((await applications.search({ limit: 5 })).next, undefined, 'none where the last page is full')
  const malformed = ['', '1', 'MA', 'LTE', 'MS41', 'MDE', 'OTk5OTk5OTk5OTk5OTk5OTk', 'x'.repeat(9999)]
  for (const after of [...malformed, `${first.next}=`, `${first.next} `])
    await t.rejects(applications.search({ limit: 1, after }), OperatorError, after)
})

t.test('Search: a text matches ids, names, emails and notes, in any case and script, with a status too', async (t) => {
  const { applications, administration } = await setting(t, [
    { clientId: 'ONE-1' },
    { clientId: 'b', name: 'CAFÉ Ünï' },
    { clientId: 'c', developerEmail: 'One@partner.example' },
    { clientId: 'd', name: '東京 API' },
    { clientId: 'e', name: '100 % a_b' },
  ])
  for (const id of ['b', 'c']) await administration.suspend(id)
  await applications.update('e', { note: 'Moves in June.\nAsk Zoë' })
  const cases: [sought: { text?: string; status?: 'active' | 'suspended' }, found: string[]][] = [
    [{ text: 'oNe' }, ['c', 'ONE-1']],
    [{ text: 'café' }, ['b']],
    // Composed or decomposed accents.
    [{ text: 'cafe\u0301 ü' }, ['b']],
    [{ text: '東京' }, ['d']],
    [{ text: '0 %' }, ['e']],
    [{ text: 'zoë' }, ['e']],
    // No character is a wildcard.
    [{ text: 'a%b' }, []],
    [{ text: 'nothing' }, []],
    [{ text: '' }, ['e', 'd', 'c', 'b', 'ONE-1']],
    [{ status: 'suspended' }, ['c', 'b']],
    [{ status: 'suspended', text: 'one' }, ['c']],
    [{ status: 'active', text: 'one' }, ['ONE-1']],
  ]
  for (const [sought, found] of cases) {
    const { applications: matching } = await applications.search({ ...sought, limit: 9 })
    t.strictSame(idsOf(matching), found, JSON.stringify(sought))
  }
})

t.test('Search: labels, a suite and a text of a label are found together, and counted once', async (t) => {
  const { applications, suites } = await setting(t, numbered(4), () => ({}))
  await suites.register({ suiteId: 's', name: 'S', labels: { owner: 'web' } })
  await suites.register({ suiteId: 'other', name: 'S' })
  const two = { owner: 'web', 'environment/2': 'a=b' }
  const labels: Record<string, string>[] = [two, { owner: 'website' }, { constructor: 'web' }, {}]
  for (const [n, one] of labels.entries()) await applications.update(`a-${n}`, { labels: one })
  for (const id of ['a-1', 'a-2']) await applications.approve(id, 's')
  const cases: [sought: { text?: string; suite?: string; labels?: string[] }, found: string[]][] = [
    [{ text: 'OWNER=web' }, ['a-1', 'a-0']],
    [{ labels: ['owner=web'] }, ['a-0']],
    [{ labels: ['owner'] }, ['a-1', 'a-0']],
    [{ labels: ['owner', 'environment/2=a=b'] }, ['a-0']],
    [{ labels: ['environment/2=a'] }, []],
    [{ labels: ['toString'] }, []],
    [{ labels: ['constructor'] }, ['a-2']],
    [{ suite: 's' }, ['a-2', 'a-1']],
    [{ suite: 's', labels: ['owner'] }, ['a-1']],
    [{ suite: 'nowhere' }, []],
    [{}, ['a-3', 'a-2', 'a-1', 'a-0']],
  ]
  for (const [sought, found] of cases) {
    const what = JSON.stringify(sought)
    const { applications: first, next, total } = await applications.search({ ...sought, limit: 1 })
    t.equal(total, found.length, what)
    const others = next === undefined ? undefined : await applications.search({ ...sought, after: next, limit: 9 })
    t.strictSame(idsOf([...first, ...(others?.applications ?? [])]), found, what)
    t.equal(others?.total, undefined, what)
  }
  t.match(await suites.list({ labels: ['owner'] }), [{ suiteId: 's' }])
  t.match(await suites.listPage({ labels: ['owner=web'], limit: 1 }), { rows: [{ suiteId: 's' }], next: undefined })
  const { next } = await suites.listPage({ labels: [], limit: 1 })
  const last = await suites.listPage({ labels: [], limit: 1, after: next })
  t.match(last, { rows: [{ suiteId: 'other' }], next: undefined })
})

t.test('Search: an application that is removed during the search is left out', async (t) => {
  const { applications } = await setting(t, numbered(3), (store) => ({
    async listNames(page) {
      const names = await store.listNames(page)
      await on(store).removeApplication('a-1')
      return names
    },
  }))
  t.strictSame(idsOf((await applications.search({ limit: 9 })).applications), ['a-2', 'a-0'])
})

t.test('Search: it reads in small steps, and other work runs in between', async (t) => {
  const most = { names: 0, whole: 0 }
  const turn = { names: 0, whole: 0 }
  let read = 0
  const { applications, why } = await setting(t, numbered(501), (store) => ({
    async listNames(page) {
      const names = await store.listNames(page)
      turn.names += names.length
      most.names = Math.max(most.names, turn.names)
      read += names.length
      return names
    },
    listApplicationsOf(keys) {
      turn.whole += keys.length
      most.whole = Math.max(most.whole, turn.whole)
      return store.listApplicationsOf(keys)
    },
  }))
  let isOver = false
  t.teardown(() => {
    isOver = true
  })
  function nextTurn(): void {
    Object.assign(turn, { names: 0, whole: 0 })
    if (!isOver) setImmediate(nextTurn)
  }
  nextTurn()

  t.equal((await applications.search({ text: 'a-0', limit: 200 })).applications.length, 1)
  t.equal(read, 501, 'all names are read')
  t.strictSame(most, { names: 500, whole: 1 })
  read = 0
  await aTurn()
  t.equal((await applications.search({ limit: 200 })).applications.length, 200)
  t.equal(read, 201, 'without a filter it reads no more steps than the page needs')
  t.strictSame(most, { names: 500, whole: 10 })
  await aTurn()
  t.strictSame(idsOf(await applications.list()), idsOf(numbered(501)), 'all, oldest first')
  t.strictSame(most, { names: 500, whole: 10 })
  read = 0
  await aTurn()
  await t.rejects(why('a-501'), { message: /no application has the client id a-501/i })
  t.equal(read, 501, 'also while looking for similar client ids')
  t.strictSame(most, { names: 500, whole: 10 })
})

t.test(
  'Search: the pages of an order follow each other, however many steps are read, and equals are newest first',
  async (t) => {
    const { applications, store, clock } = await setting(t, numbered(1001))
    const hour = Math.floor(clock.time / HOUR)
    for (const [clientId, ago, tokens] of [
      ['a-3', 0, 5],
      ['a-900', 1, 7],
      ['a-501', 0, 5],
    ] as const) {
      const { key } = await applications.show(clientId)
      const lastTokenAt = clock.time - ago
      await store.addTokenCounts([{ applicationKey: key, hour, issued: 1, refused: 0, lastTokenAt }])
      await store.addUsage([{ clientId, tokens, checks: 0, refusals: 0 }], clock.time)
    }
    const newest = idsOf(numbered(1001)).reverse()
    const without = (...ids: string[]) => newest.filter((id) => !ids.includes(id))
    for (const [sort, ids] of [
      ['', newest],
      ['name', newest.toReversed()],
      ['used', ['a-501', 'a-3', 'a-900', ...without('a-501', 'a-3', 'a-900')]],
      ['tokens', ['a-900', 'a-501', 'a-3', ...without('a-501', 'a-3', 'a-900')]],
    ] as const) {
      t.strictSame(idsOf(await applications.match({ sort })), ids, sort)
      for (const from of [0, 2, 999]) {
        const { applications: page, total } = await applications.browse({ sort, from, limit: 2 })
        t.strictSame([idsOf(page), total], [ids.slice(from, from + 2), 1001], `${sort} ${from}`)
      }
    }
    const closest = await applications.closest([{ text: 'A-7' }, { text: 'of' }, { text: 'nobody' }], 3)
    t.strictSame(closest.map(idsOf), [['a-7', 'a-799', 'a-798'], ['a-1000', 'a-999', 'a-998'], []])
  },
)

t.test('Search: what is found later gets its place without comparing all that was found before', (t) => {
  const rows = Array.from({ length: 2000 }, (_, n) => ({ n, value: (n * 7919) % 83 }))
  let compared = 0
  const order = (one: { value: number }, other: { value: number }) => {
    compared++
    return one.value - other.value
  }
  for (const limit of [1, 150, 2000, Number.POSITIVE_INFINITY]) {
    let found: typeof rows = []
    for (let from = 0; from < rows.length; from += 50) {
      compared = 0
      found = firstOf(found, rows.slice(from, from + 50), order, limit)
    }
    t.strictSame(found, rows.toSorted(order).slice(0, limit), `${limit}, and equal ones in their order`)
    t.strictSame(firstOf(found, [], order, limit), found)
  }
  compared = 0
  firstOf(
    rows.toSorted((one, other) => one.value - other.value),
    rows.slice(0, 50),
    order,
    5000,
  )
  t.ok(compared < 1000, String(compared))
  t.end()
})

t.test('Suites: an undo of approvals reaches only the change that the audit event belongs to', async (t) => {
  const seeds = ['p', 'q', 'other', 'out'].map((clientId) => ({ clientId }))
  const { store, suites, undoApprovals } = await setting(t, seeds)
  for (const suiteId of ['s1', 's2']) await suites.register({ suiteId, name: suiteId })
  await suites.changeApprovals('s1', ['q', 'out'], true)
  const by = (actor: string) => {
    const author = { ...AUTHOR, actor, requestId: 'r' }
    return createAdministration({ store, now: () => START + 1, observe: () => {}, author }).suites
  }
  await by('bert').changeApprovals('s1', ['other'], true)
  await by('anna').changeApprovals('s2', ['q'], true)
  await by('anna').changeApprovals('s1', ['out'], false)
  await by('anna').changeApprovals('s1', ['p'], true)
  const [event] = await store.listAuditEvents({ limit: 1 })
  t.strictSame(await undoApprovals(Number(event?.id)), { suite: 's1', changed: ['p'], left: [] })
  t.strictSame(idsOf(await suites.listApproved('s1')), ['q', 'other'])
})

t.test('Suites: an undo takes back all approvals, however many, unless the suite is another one by now', async (t) => {
  const { store, clock } = await setting(t, numbered(501))
  const author = { ...AUTHOR, requestId: 'r' }
  const { suites, undoApprovals } = createAdministration({ store, now: () => clock.time, observe: () => {}, author })
  const register = () => suites.register({ suiteId: 'store', name: 'Store API' })
  await register()
  const newest = async () => Number((await store.listAuditEvents({ limit: 1 }))[0]?.id)
  await suites.changeApprovals('store', idsOf(numbered(501)), true)
  t.equal((await undoApprovals(await newest())).changed.length, 501)
  t.strictSame(await suites.listApproved('store'), [])
  const event = await newest()
  const undo = () => undoApprovals(event)
  await suites.remove('store')
  await t.rejects(undo(), { message: 'There is no suite with the id store.' })
  await register()
  await t.rejects(undo(), { message: 'The suite store has been removed and registered again since.' })
  t.strictSame(await suites.listApproved('store'), [])
})

t.test('Suites: an undo by what is no id of an audit event is refused without a look at the database', async (t) => {
  const { undoApprovals } = await setting(t, [], () => ({ listAuditEvents: () => t.fail('it was asked') as never }))
  for (const id of [NaN, 1.5, 1e300])
    await t.rejects(undoApprovals(id), { message: 'The audit has no such change of approvals.' })
})
