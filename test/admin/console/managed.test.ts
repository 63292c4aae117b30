import t, { type Test } from 'tap'
import { createConsoleWorld, textOf, unescaped, valuesOf } from '../../support/console-world.ts'
import { filling } from '../../support/registration.ts'

const FILE = 'partners.yaml <of> "web"'

/** A console with an application and a suite that a file manages, and others that nothing manages. */
async function setting(t: Test) {
  const world = await createConsoleWorld(t)
  const { applications, suites } = filling(world.administration)
  await suites.register({ suiteId: 'store', name: 'Store', managedBy: FILE })
  await suites.register({ suiteId: 'free', name: 'Free' })
  await applications.register({ clientId: 'shop', name: 'Shop', suites: ['store'], managedBy: FILE })
  await applications.register({ clientId: 'own', name: 'Own' })
  return { ...world, browser: await world.signIn() }
}

/** The hidden fields of a page, as a browser sends them. */
function fieldsIn(body: string): Record<string, string[]> {
  const names = [...body.matchAll(/<input type="hidden" name="([^"]*)"/g)].map(([, name = '']) => unescaped(name))
  return Object.fromEntries(names.map((name) => [name, valuesOf(body, name)]))
}

const ASKED =
  /Change (Shop|Store|Shop API) by hand\?.* is managed by partners\.yaml <of> "web" , applied 2027-01-15 08:00/

t.test('Managed: a change by hand asks first, names the file, and is then made as it was sent', async (t) => {
  const { browser, store, administration } = await setting(t)
  const { applications, suites } = administration
  const stateOf = async () => [await store.findApplication('shop'), await store.findSuite('store')]
  const note = 'Two\nlines "quoted" <b>'
  const changes: [path: string, form: Record<string, string | string[]>, isMade: () => Promise<boolean>][] = [
    ['/applications/shop', { name: 'Shop', note }, async () => (await applications.show('shop')).note === note],
    ['/applications/shop/suspend', {}, async () => (await applications.show('shop')).status === 'suspended'],
    ['/applications/shop/resume', {}, async () => (await applications.show('shop')).status === 'active'],
    [
      '/applications/shop/approve',
      { suite: ['free', 'store'] },
      async () => (await applications.show('shop')).suites.length === 2,
    ],
    ['/suites/store', { name: 'Shop API' }, async () => (await suites.show('store')).name === 'Shop API'],
    [
      '/applications/shop/remove',
      { typed_name: 'Shop' },
      async () => (await store.findApplication('shop')) === undefined,
    ],
    ['/suites/store/remove', { typed_name: 'Shop API' }, async () => (await store.findSuite('store')) === undefined],
  ]
  for (const [path, form, isMade] of changes) {
    const before = await stateOf()
    const asked = await browser(path, { form })
    t.match([asked.statusCode, textOf(asked.body)], [200, ASKED], path)
    const wrong = { ...form, although_managed_by: 'another.yaml' }
    t.match(textOf(await browser.body(path, { form: wrong })), ASKED, 'of another file')
    t.strictSame(await stateOf(), before, 'nothing is changed yet')
    t.equal((await browser(path, { form: fieldsIn(asked.body) })).statusCode, 303)
    t.ok(await isMade(), path)
  }
})

t.test('Managed: what nothing manages, and what no file says, is changed without a question', async (t) => {
  const { browser, administration } = await setting(t)
  t.equal((await browser('/applications/own/suspend', { form: {} })).statusCode, 303)
  t.match(textOf(await browser.body('/applications/shop/undo', { form: {} })), ASKED)
  t.equal((await browser('/applications/shop/revoke-tokens', { form: { typed_name: 'Shop' } })).statusCode, 303)
  t.match(await browser.text('/applications/shop'), `Managed by ${FILE}, applied 2027-01-15 08:00`)
  t.match(await browser.text('/suites/store'), `Managed by ${FILE}, applied 2027-01-15 08:00`)
  t.notMatch(await browser.text('/applications/own'), 'Managed by')
  const unchanged = fieldsIn(await browser.body('/applications/shop/edit'))
  t.match(
    await browser.location('/applications/shop', { form: { ...unchanged, name: 'Shop', suite: 'store' } }),
    /nothing-changed$/,
  )
  t.equal(
    (await browser('/applications/shop', { form: { ...unchanged, name: 'Shop' } })).statusCode,
    200,
    'of approvals, too',
  )
  t.match(
    await browser.location('/suites/store', { form: fieldsIn(await browser.body('/suites/store/edit')) }),
    /nothing-changed$/,
  )
  const body = { managed_by: '', although_managed_by: FILE, name: 'Shop' }
  await browser('/applications/shop', { form: body })
  t.match(await administration.applications.show('shop'), { managedBy: '', appliedAt: null })
})

t.test('Managed: a change of many approvals names the files', async (t) => {
  const { browser, administration } = await setting(t)
  const hint = 'partners.yaml <of> "web" may undo this for 1 application'
  const action = '/applications?for=free'
  const asked = await browser.body(action, { form: { target: 'free', client_id: 'shop', change: 'approve' } })
  t.match(textOf(asked), hint)
  t.strictSame((await administration.suites.listApproved('free')).length, 0)
  t.match(await browser.location(action, { form: fieldsIn(asked) }), /changed=\d+$/)
  t.notMatch(
    textOf(await browser.body(action, { form: { target: 'free', client_id: 'own', change: 'approve' } })),
    hint,
  )
})
