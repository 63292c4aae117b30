import t from 'tap'
import { type Entry, wrongIn } from '../../failover/load/ledger.ts'

const entry: Entry = { token: 'a', application: { client_id: 'a', client_secret: 'b' }, issuedAt: 0 }

t.test('Failover: a check that began after the answer to the revocation must not accept the token', async (t) => {
  const revoked = { ...entry, revokeSentAt: 50, revokedAt: 100 }
  t.equal(wrongIn(revoked, 200, 101), 'acceptedLate')
  t.equal(wrongIn(revoked, 200, 99), undefined, 'the check may have been first')
  t.equal(wrongIn(revoked, 401, 101), undefined)
  t.equal(wrongIn(revoked, 503, 101), undefined)
})

t.test('Failover: a token whose revocation was not asked for must not be refused', async (t) => {
  t.equal(wrongIn(entry, 401, 101), 'refusedWrongly')
  t.equal(wrongIn(entry, 200, 101), undefined)
  t.equal(wrongIn(entry, 503, 101), undefined)
})

t.test('Failover: a token whose revocation was not answered may be valid or not', async (t) => {
  const asked = { ...entry, revokeSentAt: 50 }
  t.equal(wrongIn(asked, 401, 101), undefined)
  t.equal(wrongIn(asked, 200, 101), undefined)
})
