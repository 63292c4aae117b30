import t, { type Test } from 'tap'
import { createConsoleWorld, textOf, valuesOf } from '../../support/console-world.ts'
import { filling } from '../../support/registration.ts'

const PAGE = '/applications/shop'

/** A console with an application that is approved for one of two suites. */
async function setting(t: Test) {
  const world = await createConsoleWorld(t)
  const { applications, suites } = filling(world.administration)
  for (const suiteId of ['store', 'prices']) await suites.register({ suiteId, name: suiteId })
  const sourceAddresses = ['192.0.2.1', '192.0.2.2']
  const values = { labels: { owner: 'web' }, quota: 5, sourceAddresses }
  await applications.register({ clientId: 'shop', name: 'Shop', suites: ['store'], ...values })
  const browser = await world.signIn()
  /** Sends a form. Resolves to the address of the page with the message. */
  const change = async (url: string, form: Record<string, string | string[]> = {}) =>
    String(await browser.location(url, { form }))
  /** Presses the button of a message. */
  const undo = async (message: string, page = PAGE) =>
    browser(`${page}/undo`, { form: { changed: valuesOf(await browser.body(message), 'changed') } })
  /** Reads the application without what the store alone sets. */
  const show = async () => {
    const { key, appliedAt, ...shown } = await applications.show('shop')
    return shown
  }
  return { ...world, applications, suites, browser, change, undo, show }
}

/** The form of the application, with everything changed. */
const EDITED = {
  ...{ name: 'Mine', shown_name: 'Shop', note: 'New', shown_note: '' },
  ...{ labels: 'tier=1', shown_labels: 'owner=web', quota: '', shown_quota: '5', report_only: 'quota' },
  ...{ source_addresses: '192.0.2.2\n::1', shown_source_addresses: '192.0.2.1\n192.0.2.2' },
  ...{ shown: 'store', suite: 'prices' },
}

t.test('Undo: the message about a change says what was changed, and undoes all of it', async (t) => {
  const { browser, change, undo, show, store } = await setting(t)
  const before = await show()
  const suspended = 'The application is suspended: it gets no tokens, and the tokens that it has are refused.'
  for (const [url, form, message] of [
    [`${PAGE}/suspend`, {}, `${suspended} status: active → suspended Undo`],
    [
      `${PAGE}/approve`,
      { suite: 'prices' },
      'It is approved: its tokens are valid there from the next check on. suite: prices Undo',
    ],
    [
      PAGE,
      { name: 'Shop', shown: 'store' },
      'The approval is withdrawn: its tokens are refused there from the next check on. suite: store Undo',
    ],
    [PAGE, { name: 'Mine', shown_name: 'Shop' }, 'The changes are saved. name: Shop → Mine Undo'],
    [PAGE, EDITED, /The changes are saved\. (?=.*name: Shop → Mine)(?=.*quota: 5)(?=.*suites: store → prices).* Undo/],
  ] as const) {
    const made = await change(url, form)
    t.match(made, /^\/applications\/shop\?changed=\d+$/)
    t.match(await browser.text(made), message)
    t.notSame(await show(), before)
    const undone = String((await undo(made)).headers.location)
    t.match(await browser.text(undone), 'The change is undone.')
    t.strictSame({ ...(await show()), sourceAddresses: (await show()).sourceAddresses.toSorted() }, before)
    const [event] = await store.listAuditEvents({ limit: 1 })
    t.match(event, { action: 'change undone', actor: 'anna', origin: 'console', subject: { id: 'shop' } })
    t.match(await browser.text('/audit'), 'Change undone')
  }
})

t.test('Undo: it can be undone itself, which makes the change again', async (t) => {
  const { change, undo, show } = await setting(t)
  const undone = await undo(await change(`${PAGE}/suspend`))
  t.equal((await show()).status, 'active')
  await undo(String(undone.headers.location))
  t.equal((await show()).status, 'suspended')
})

t.test('Undo: a suite gets back what it had', async (t) => {
  const { browser, change, undo, suites, events } = await setting(t)
  const values = { name: 'Store API', shown_name: 'store', url: 'https://store.example', note: 'New', labels: 'tier=1' }
  const made = await change('/suites/store', values)
  t.match(await browser.text(made), /The changes are saved\. .*name: store → Store API.* Undo/)
  t.match(await browser.text(String((await undo(made, '/suites/store')).headers.location)), 'The change is undone.')
  t.match(await suites.show('store'), { name: 'store', url: '', note: '', labels: { tier: undefined } })
  const changed = ['name', 'labels', 'note', 'url']
  t.match(events.at(-1), { type: 'change undone', clientId: 'store', changed })
})

t.test('Undo: it is refused as soon as something else was changed', async (t) => {
  const { browser, change, show, applications, suites, store } = await setting(t)
  const { body } = await browser(await change(PAGE, EDITED))
  const changed = valuesOf(body, 'changed')
  await applications.update('shop', { note: 'Theirs' })
  const refused = async (form: Record<string, string | string[]>, message: string) => {
    const answer = await browser(`${PAGE}/undo`, { form })
    t.equal(answer.statusCode, 409)
    t.match(textOf(answer.body), `Nothing was changed. ${message}`)
  }
  const late = 'This cannot be undone any more: something was changed since.'
  await refused({ changed }, late)
  const [theirs] = await store.listAuditEvents({ limit: 1 })
  for (const wrong of [String(theirs?.id), '', 'x', '1e9']) await refused({ changed: wrong }, late)
  t.notMatch(await browser.text(`${PAGE}?changed=${theirs?.id}`), 'Undo', 'a change from elsewhere')
  t.match(await show(), { name: 'Mine', note: 'Theirs' })
  t.equal(await browser.status('/applications/nowhere/undo', { form: { changed } }), 404)

  const withdrawn = await browser.body(await change(PAGE, { shown: 'prices' }))
  await suites.remove('prices')
  await suites.register({ suiteId: 'prices', name: 'Another' })
  await refused({ changed: valuesOf(withdrawn, 'changed') }, 'The suite prices has been removed and registered again')
  t.strictSame((await show()).suites, [])

  await change(`${PAGE}/secrets/3/revoke`, { force: 'yes', typed_name: 'Mine' })
  const [revoked] = await store.listAuditEvents({ limit: 1 })
  t.match(revoked, { action: 'secret revoked', origin: 'console' })
  await refused({ changed: String(revoked?.id) }, late)
})

t.test('Undo: it is offered to the operator who made the change alone', async (t) => {
  const { browser, change, signIn, administration } = await setting(t)
  const made = await change(`${PAGE}/suspend`)
  await administration.operators.add('bert', 'admin')
  for (const as of ['viewer', 'bert']) t.notMatch(await (await signIn(as)).text(made), 'Undo', as)
  t.match(await browser.text(made), 'Undo')
  t.notMatch(await browser.text(PAGE), 'Undo')
})

t.test('Undo: what is changed while it is undone stays, and nothing is undone', async (t) => {
  const { browser, change, undo, show, applications, store } = await setting(t)
  const made = await change(`${PAGE}/suspend`)
  const { listAuditEvents } = store
  const { body } = await browser(made)
  store.listAuditEvents = async (filter) => {
    store.listAuditEvents = listAuditEvents
    const events = await listAuditEvents(filter)
    await applications.update('shop', { note: 'Meanwhile' })
    return events
  }
  const { statusCode } = await browser(`${PAGE}/undo`, { form: { changed: valuesOf(body, 'changed') } })
  t.equal(statusCode, 412)
  t.match(await show(), { status: 'suspended', note: 'Meanwhile' })
  t.equal((await undo(made)).statusCode, 409)
})

t.test('Undo: all that one form changes has the same time, by which it is found', async (t) => {
  const { change, store, clock } = await setting(t)
  let { time } = clock
  Object.defineProperty(clock, 'time', { get: () => time++ })
  await change(PAGE, EDITED)
  const events = await store.listAuditEvents({ limit: 3 })
  t.strictSame(
    events.map(({ at }) => at),
    Array(3).fill(events[0]?.at),
  )
  t.match(events, Array(3).fill({ subject: { id: 'shop' }, actor: 'anna' }))
})
