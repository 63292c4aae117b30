import t from 'tap'
import { createConsoleWorld, deadLinksOf, valuesOf } from '../../support/console-world.ts'
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
