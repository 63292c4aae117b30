import t from 'tap'
import { createConsoleWorld, deadLinksOf, textOf, unescaped, valuesOf } from '../../support/console-world.ts'
import { registrationJson } from '../../support/registration.ts'

const HOSTILE = `<script>alert(1)</script>"'&amp;`

type Fields = Record<string, string | string[]>

const EMAIL = 'The developer email must be an email address.'
const NO_NAME = 'The name must not be empty.'
const HOURS = 'It must be a whole number of hours: 1 to 8760.'
const NEW = registrationJson({ name: HOSTILE, client_id: '' })
/** Fields that are refused, with what is said at each; `shown`: what else the page shows. */
const REFUSED: [url: string, fields: Fields, status: number, errors: Record<string, string>, shown?: RegExp][] = [
  [
    '/new-application',
    registrationJson({ name: '', developer_email: HOSTILE, client_id: 'ü', suite: 'store' }),
    422,
    { name: NO_NAME, developer_email: EMAIL, client_id: 'The client id must be' },
    /^(?!.*value="other" checked).*<a href="#field-name">.*value="store" checked.*<details open>.*field-client_id/s,
  ],
  ['/new-application', { ...NEW, client_id: 'store' }, 409, { client_id: 'The id store is taken already.' }],
  [
    '/new-application',
    { ...NEW, suite: ['store', 'gone'] },
    422,
    { suite: 'There is no suite with the id gone.' },
    /^(?!.*value="gone")/s,
  ],
  ['/new-suite', { suite_id: 'a b', name: '' }, 422, { suite_id: 'The suite id must be', name: NO_NAME }],
  ['/new-suite', { suite_id: 'store', name: HOSTILE }, 409, { suite_id: 'The id store is taken already.' }],
  ['/applications/shop', { name: '', developer_email: HOSTILE }, 422, { name: NO_NAME, developer_email: EMAIL }],
  ['/suites/store', { name: '' }, 422, { name: NO_NAME }],
  ...['0', '8761', '1.5', '-1', HOSTILE].map((hours): (typeof REFUSED)[number] => [
    '/applications/shop/secrets',
    { overlap: '0', hours },
    422,
    { hours: HOURS },
    /<details class="confirm" open>/,
  ]),
  ['/suites/store/secrets', { overlap: '5', hours: '' }, 422, { hours: HOURS }],
  ['/suites/store/secrets', { overlap: '', hours: '' }, 422, { hours: HOURS }],
]

t.test('Forms: what is wrong is said at its field, input is kept, and nothing is changed', async (t) => {
  const { signIn, administration, store } = await createConsoleWorld(t)
  for (const suiteId of ['store', 'other']) await administration.suites.register({ suiteId, name: suiteId })
  await administration.applications.register({ clientId: 'shop', name: 'Shop' })
  const browser = await signIn()
  const changes = async () => (await store.listAuditEvents({ limit: 100 })).length
  const before = await changes()
  for (const [url, fields, status, errors, shown = /./] of REFUSED) {
    const which = `${url} ${JSON.stringify(fields)}`
    const { statusCode, body } = await browser(url, { form: { request_key: 'key', ...fields } })
    t.equal(statusCode, status, which)
    for (const [field, error] of Object.entries(errors)) t.match(body, `id="field-${field}-error">${error}`, which)
    for (const [field, value] of Object.entries(fields)) {
      if (typeof value === 'string' && !['overlap', 'suite'].includes(field))
        t.strictSame(valuesOf(body, field), [value])
    }
    t.notMatch(valuesOf(body, 'request_key'), ['key'])
    t.match(body, shown, which)
    t.notMatch(body, '<script>alert')
    t.strictSame(deadLinksOf(body), [])
  }
  t.equal(await changes(), before)

  const fail = async () => {
    throw new Error('a bug')
  }
  Object.assign(store, { register: fail, change: fail })
  for (const [url, form] of [
    ['/new-application', NEW],
    ['/new-suite', { suite_id: 'new', name: 'New' }],
    ['/applications/shop', { ...NEW, shown_name: 'Shop' }],
    ['/suites/store', { name: 'New', shown_name: 'store' }],
    ['/suites/store/secrets', { overlap: '0', hours: '' }],
  ] as const) {
    t.equal(await browser.status(url, { form }), 500, `a mistake of the server is not one of the form: ${url}`)
  }
})

/** What ends for good: the page with the form, the form, what else it sends, and the name to type. */
const FOR_GOOD: [page: string, form: string, fields: Fields, name: string][] = [
  ['/applications/shop', '/applications/shop/revoke-tokens', {}, HOSTILE],
  ['/applications/shop', '/applications/shop/secrets/1/revoke', { force: 'yes' }, HOSTILE],
  ['/applications/shop/remove', '/applications/shop/remove', {}, HOSTILE],
  ['/suites/store', '/suites/store/secrets/2/revoke', { force: 'yes' }, 'Store  API'],
  ['/suites/store/remove', '/suites/store/remove', {}, 'Store  API'],
  ['/operators', '/operators/viktor/remove', {}, 'viktor'],
]

t.test('Forms: what ends for good asks for its name, and is refused with another one', async (t) => {
  const { signIn, administration, store } = await createConsoleWorld(t)
  await administration.applications.register({ clientId: 'shop', name: HOSTILE })
  await administration.suites.register({ suiteId: 'store', name: ' Store  API ' })
  const browser = await signIn()
  const changes = async () => (await store.listAuditEvents({ limit: 100 })).length
  for (const [page, url, fields, name] of FOR_GOOD) {
    const before = await changes()
    const shown = await browser.body(page)
    t.match(
      unescaped(shown),
      `>Type <bdi class="lines">${name.startsWith('Store') ? ` ${name} ` : name}</bdi> to confirm<`,
      url,
    )
    t.notMatch(shown, 'was not typed')
    for (const typed_name of [undefined, '', `${name}x`, name.replace('  ', ' ').toUpperCase()]) {
      const { statusCode, body } = await browser(url, {
        form: { ...fields, ...(typed_name !== undefined && { typed_name }) },
      })
      t.equal(statusCode, 422, `${url} ${typed_name}`)
      t.match(textOf(body), 'Nothing was changed. Type the name to confirm: ')
      t.equal(body.match(/aria-invalid="true" autofocus><span class="error">This name was not typed\./g)?.length, 1)
      t.notMatch(body, '<script>alert')
    }
    t.equal(await changes(), before)
    t.equal(await browser.status(url, { form: { ...fields, typed_name: ` ${name} ` } }), 303, url)
    t.equal(await changes(), before + 1)
  }
})
