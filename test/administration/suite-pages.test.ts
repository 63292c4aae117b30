import t from 'tap'
import { MANY_APPROVED } from '../../src/administration/suite-pages.ts'
import { OperatorError } from '../../src/domain/operator-error.ts'
import { createWorldOfSuites } from '../support/suites.ts'

t.test('Suites: a page has secrets, the number of approved applications, and a cursor for the next page', async (t) => {
  const { administration, clock } = await createWorldOfSuites(t)
  await administration.rotateSecret('store', 0)
  clock.time += 1
  const first = await administration.listPage({ limit: 1 })
  t.match(first.rows, [{ suiteId: 'store', approved: 1, secrets: [{ state: 'expired' }, { state: 'active' }] }])
  const second = await administration.listPage({ after: first.next, limit: 1 })
  t.match(second.rows, [{ suiteId: 'product-information', approved: 0, secrets: { length: 1 } }])
  t.equal(second.next, undefined)
  await t.rejects(administration.listPage({ after: 'nonsense', limit: 1 }), OperatorError)
})

t.test('Suites: approved applications are listed page by page, and counted in full', async (t) => {
  const { administration, credentials } = await createWorldOfSuites(t)
  const others = Array.from({ length: MANY_APPROVED + 1 }, (_, n) => ({
    clientId: `a-${n}`,
    name: `A ${n}`,
    developerEmail: 'dev@partner.example',
    suites: ['store'],
  }))
  await administration.seed({ suites: [], applications: others })
  const first = await administration.listApprovedPage('store', { limit: 2 })
  t.strictSame(
    first.rows.map(({ clientId }) => clientId),
    [credentials.client_id, 'a-0'],
  )
  const second = await administration.listApprovedPage('store', { after: first.next, limit: 1 })
  t.strictSame(
    second.rows.map(({ clientId }) => clientId),
    ['a-1'],
  )
  t.equal((await administration.listPage({ limit: 1 })).rows[0]?.approved, MANY_APPROVED)
  t.equal(await administration.countApproved('store'), MANY_APPROVED + 2)
})
