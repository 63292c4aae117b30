import t from 'tap'
import { createApiWorld } from '../../support/api.ts'

const NEW = { name: 'A', developer_email: 'dev@partner.example' }

t.test('API: concurrent changes by two operators are made one after the other, each with its author', async (t) => {
  const { call, administration } = await createApiWorld(t)
  await administration.operators.add('bea', 'admin')
  const { adminKey } = await administration.operators.addKey('bea', 60_000)
  const bea = { as: 'none', headers: { authorization: `Bearer ${adminKey}` } } as const

  const registered = await Promise.all(
    [{}, bea].map((who) => call('POST', '/applications', { ...who, json: { ...NEW, client_id: 'a' } })),
  )
  t.strictSame(registered.map(({ status }) => status).sort(), [201, 409])
  await Promise.all([
    call('PATCH', '/applications/a', { json: { name: 'By anna' } }),
    call('PATCH', '/applications/a', { ...bea, json: { developer_email: 'bea@partner.example' } }),
  ])
  t.match((await call('GET', '/applications/a')).body, { name: 'By anna', developer_email: 'bea@partner.example' })

  const [one, two] = await Promise.all([
    call('POST', '/applications/a/secrets'),
    call('POST', '/applications/a/secrets', bea),
  ])
  t.not(one.body.client_secret, two.body.client_secret)
  const { secrets } = (await call('GET', '/applications/a/secrets')).body
  t.equal(
    secrets.filter(({ ends_at }: { ends_at: string | null }) => ends_at === null).length,
    1,
    'the later one stays',
  )

  const removed = await Promise.all([call('DELETE', '/applications/a'), call('DELETE', '/applications/a', bea)])
  t.strictSame(removed.map(({ status }) => status).sort(), [204, 404])
  const { audit_events } = (await call('GET', '/audit-events?subject=a')).body
  const actors = (action: string) =>
    audit_events
      .filter((event: { action: string }) => event.action === action)
      .map(({ actor }: { actor: string }) => actor)
      .sort()
      .join()
  t.equal(actors('application updated'), 'anna,bea')
  t.equal(actors('secret rotated'), 'anna,bea')
  t.match(actors('application removed'), /^(anna|bea)$/)
})
