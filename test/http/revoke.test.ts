import t from 'tap'
import { createWorldOfSuites, createWorldWithFile } from '../support/world.ts'

const PATH = '/v1/oauth/revoke'

t.test('RFC 7009 §2.1: an application revokes one of its own tokens, and no other', async (t) => {
  const { post, credentials, token, verify, logged } = await createWorldOfSuites(t)
  const [one, other] = [await token(), await token()]
  const answer = await post({ ...credentials, token: one, token_type_hint: 'anything' }, {}, PATH)
  t.strictSame([answer.statusCode, answer.body], [200, ''])
  t.match(logged().at(-1), { msg: 'token revoked', client_id: credentials.client_id, token_id: String })
  t.strictSame([(await verify(one)).statusCode, (await verify(other)).statusCode], [401, 200])
})

t.test('RFC 7009 §2.2: an unknown, expired or foreign token gets 200, and is not changed', async (t) => {
  const { post, credentials, token, verify, administration, logged } = await createWorldOfSuites(t)
  const mine = await token()
  const stranger = await administration.register({ name: 'Other' })
  const theirs = { client_id: stranger.clientId, client_secret: stranger.clientSecret as string }
  const unknown = ['x', 'A'.repeat(64), `${mine.slice(0, 60)}AAAA`, mine.slice(1), `${mine}A`, `${mine}\n`]
  for (const form of [...unknown.map((token) => ({ ...credentials, token })), { ...theirs, token: mine }]) {
    const answer = await post(form, {}, PATH)
    t.strictSame([answer.statusCode, answer.body], [200, ''], form.token)
    const line = logged().at(-1)
    t.match(line, { msg: 'nothing to revoke', client_id: form.client_id })
    t.notOk('token_id' in line)
    t.equal((await verify(mine)).statusCode, 200, 'the id alone revokes nothing')
  }
  for (const msg of ['token revoked', 'nothing to revoke']) {
    t.equal((await post({ ...credentials, token: mine }, {}, PATH)).statusCode, 200)
    t.match(logged().at(-1), { msg })
    t.equal((await verify(mine)).statusCode, 401)
  }
})

t.test('RFC 7009 §2.2.1: if the store cannot commit, the answer is 503, and the token stays valid', async (t) => {
  const { post, credentials, token, verify, other } = await createWorldWithFile(t, { lockTimeout: 0 })
  const accessToken = await token()
  other.exec('BEGIN IMMEDIATE')
  t.equal((await post({ ...credentials, token: accessToken }, {}, PATH)).statusCode, 503)
  t.equal((await verify(accessToken)).statusCode, 200)
})
