import t from 'tap'
import { createApiWorld } from '../../support/api.ts'
import { START } from '../../support/world.ts'

const AT_START = new Date(START).toISOString()

t.test('API: a suite is registered, shown, changed and removed', async (t) => {
  const { call } = await createApiWorld(t)
  const registered = await call('POST', '/suites', { json: { id: 'store', name: 'Store API' } })
  t.match(registered, {
    status: 201,
    headers: { location: '/admin/v1/suites/store' },
    body: { id: 'store', client_id: 'store', client_secret: /^\w{40}$/, name: 'Store API' },
  })
  const shown = (await call('GET', '/suites/store')).body
  t.match(shown, { id: 'store', name: 'Store API', created_at: AT_START, secrets: [{ state: 'active' }] })
  t.strictSame((await call('PATCH', '/suites/store', { json: { name: 'Shop' } })).body, { ...shown, name: 'Shop' })
  t.equal((await call('DELETE', '/suites/store')).status, 204)
  for (const method of ['GET', 'DELETE'] as const) {
    t.match(await call(method, '/suites/store'), { status: 404, body: { detail: /no suite with the id store/ } })
  }
  t.equal((await call('PATCH', '/suites/store', { json: { name: 'Shop' } })).status, 404)
})

t.test('API: a suite with a taken or invalid id, or an invalid field, is refused', async (t) => {
  const { call } = await createApiWorld(t)
  const register = (json: unknown) => call('POST', '/suites', { json })
  await register({ id: 'store', name: 'A' })
  t.match(await register({ id: 'store', name: 'A' }), {
    status: 409,
    body: { detail: 'The id store is taken already.' },
  })
  t.match(await register({ id: '..', name: '' }), {
    status: 422,
    body: { errors: [{ pointer: '#/id' }, { pointer: '#/name' }] },
  })
  t.match(await register({ suite_id: 'a', name: 'A' }), {
    body: { errors: [{ pointer: '#/id' }, { pointer: '#/suite_id' }] },
  })
  t.match(await call('PATCH', '/suites/store', { json: {} }), {
    status: 422,
    body: { detail: 'The field name is missing.' },
  })
})

t.test('API: suites and their approved applications are listed page by page, oldest first', async (t) => {
  const { call } = await createApiWorld(t)
  for (const id of ['one', 'two', 'three']) await call('POST', '/suites', { json: { id, name: id } })
  for (const client_id of ['a', 'b', 'c']) {
    const suites = client_id === 'b' ? ['one'] : ['one', 'two']
    await call('POST', '/applications', { json: { name: 'A', developer_email: 'a@b.example', client_id, suites } })
  }
  const first = (await call('GET', '/suites?limit=2')).body
  t.match(first.suites, [{ id: 'one', name: 'one', created_at: AT_START }, { id: 'two' }])
  t.match((await call('GET', `/suites?limit=2&after=${first.next}`)).body, { suites: [{ id: 'three' }], next: null })

  const approved = (await call('GET', '/suites/one/applications?limit=2')).body
  t.match(approved.applications, [{ client_id: 'a', suites: ['one', 'two'], status: 'active' }, { client_id: 'b' }])
  const rest = (await call('GET', `/suites/one/applications?limit=2&after=${approved.next}`)).body
  t.match(rest, { applications: [{ client_id: 'c' }], next: null })
  t.strictSame((await call('GET', '/suites/three/applications')).body, { applications: [], next: null })
  t.equal((await call('GET', '/suites/four/applications')).status, 404)
  t.equal((await call('GET', '/suites/one/applications?search=a')).status, 400)
})
