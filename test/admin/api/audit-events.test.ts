import t from 'tap'
import { createApiWorld } from '../../support/api.ts'
import { START } from '../../support/world.ts'

const NEW = { name: 'A', developer_email: 'dev@partner.example', client_id: 'a' }
const at = (time: number) => new Date(time).toISOString()

t.test('API: every change is an audit event with the operator, the address and the request id', async (t) => {
  const { call, lines } = await createApiWorld(t)
  const changes: [string, () => Promise<{ headers: Record<string, string>; status: number }>][] = [
    ['suite registered', () => call('POST', '/suites', { json: { id: 's', name: 'S' } })],
    ['suite updated', () => call('PATCH', '/suites/s', { json: { name: 'T' } })],
    ['application registered', () => call('POST', '/applications', { json: { ...NEW, suites: [] } })],
    ['application updated', () => call('PATCH', '/applications/a', { json: { name: 'B' } })],
    ['application suspended', () => call('PUT', '/applications/a/suspension')],
    ['application resumed', () => call('DELETE', '/applications/a/suspension')],
    ['application approved', () => call('PUT', '/applications/a/suites/s')],
    ['approval withdrawn', () => call('DELETE', '/applications/a/suites/s')],
    ['all tokens revoked', () => call('DELETE', '/applications/a/tokens')],
    ['secret rotated', () => call('POST', '/applications/a/secrets')],
    ['secret revoked', () => call('DELETE', '/applications/a/secrets/2')],
    ['secret rotated', () => call('POST', '/suites/s/secrets')],
    ['secret revoked', () => call('DELETE', '/suites/s/secrets/1')],
    ['application removed', () => call('DELETE', '/applications/a')],
    ['suite removed', () => call('DELETE', '/suites/s')],
    ['operator key revoked', () => call('DELETE', '/operators/viktor/keys/2')],
    ['operator removed', () => call('DELETE', '/operators/viktor')],
  ]
  for (const [action, change] of changes) {
    const { headers, status } = await change()
    t.ok(status < 300, action)
    const { audit_events } = (await call('GET', '/audit-events?limit=1')).body
    const [event] = audit_events
    t.match(event, { action, actor: 'anna', origin: 'API', remote_address: '127.0.0.1', at: at(START) })
    t.equal(event.request_id, headers['x-request-id'])
    const line = JSON.parse(lines.at(-1) as string)
    t.match(line, { actor: 'anna', origin: 'API', remote_address: '127.0.0.1', request_id: headers['x-request-id'] })
  }
})

t.test('API: an audit event has the fields before and after the change', async (t) => {
  const { call } = await createApiWorld(t)
  await call('POST', '/applications', { json: NEW, headers: { 'x-request-id': 'call-1' } })
  await call('PATCH', '/applications/a', { json: { name: 'B' } })
  await call('PATCH', '/applications/a', { json: { name: 'B' } })
  const { audit_events } = (await call('GET', '/audit-events?subject=a')).body
  t.match(audit_events, [
    { before: { name: 'A' }, after: { name: 'B' }, subject: { kind: 'application', id: 'a' } },
    { before: null, after: { name: 'A', client_id: 'a', secrets: [{ origin: 'generated' }] }, request_id: 'call-1' },
  ])
  t.equal(audit_events.length, 2, 'a call that changes nothing has no event')
})

t.test('API: audit events can be filtered, and are listed page by page, newest first', async (t) => {
  const { call, clock } = await createApiWorld(t)
  for (const client_id of ['a', 'b', 'c']) {
    clock.time += 1000
    await call('POST', '/applications', { json: { ...NEW, client_id } })
  }
  const subjects = async (query: string) =>
    (await call('GET', `/audit-events${query}`)).body.audit_events.map(
      ({ subject }: { subject: { id: string } }) => subject.id,
    )
  t.strictSame(await subjects('?actor=anna'), ['c', 'b', 'a'])
  t.strictSame(await subjects('?actor=tester'), ['viktor', 'viktor', 'anna', 'anna'])
  t.strictSame(await subjects('?actor=nobody'), [])
  t.strictSame(await subjects('?subject=b&actor=anna'), ['b'])
  t.strictSame(await subjects(`?since=${at(START + 2000)}`), ['c', 'b'])
  t.strictSame(await subjects(`?since=${encodeURIComponent('2027-01-15T10:00:02.001+02:00')}`), ['c'])
  const first = (await call('GET', '/audit-events?limit=2')).body
  t.match(first.audit_events, [{ subject: { id: 'c' } }, { subject: { id: 'b' } }])
  t.strictSame(await subjects(`?limit=1&before=${first.next}`), ['a'])
  t.equal((await call('GET', '/audit-events?limit=3&actor=anna')).body.next, null)
  for (const since of ['2027-01-15', '2027-01-15T08:00:00', '2027-02-30T08:00:00Z', 'yesterday', '']) {
    t.equal((await call('GET', `/audit-events?since=${since}`)).status, 400, since)
  }
  t.equal((await call('GET', '/audit-events?before=2')).status, 400)
})
