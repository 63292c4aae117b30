import t from 'tap'
import { createWorldOfSuites } from '../support/suites.ts'
import { START } from '../support/world.ts'

const HOUR = 3_600_000

t.test('Revoke-all: of one millisecond, the token before it is revoked and the token after it is not', async (t) => {
  const { administration, credentials, token, verify, introspect } = await createWorldOfSuites(t)
  const before = await token()
  await administration.revokeAllTokens(credentials.client_id)
  const between = await token()
  await administration.revokeAllTokens(credentials.client_id)
  const after = await token()
  const all = [before, between, after]
  t.strictSame(
    (await Promise.all(all.map((one) => verify(one)))).map(({ statusCode }) => statusCode),
    [401, 401, 200],
  )
  const answers = await Promise.all(all.map(introspect))
  t.strictSame(
    answers.map((answer) => answer.json().active),
    [false, false, true],
  )
})

t.test('Revoke-all: it revokes what was issued just before the clock was set back', async (t) => {
  const { administration, credentials, token, post, verify, clock } = await createWorldOfSuites(t)
  const ahead = await token()
  clock.time -= 5000
  await administration.revokeAllTokens(credentials.client_id)
  t.equal((await verify(ahead)).statusCode, 401)
  const answer = (await post()).json()
  t.match(answer, { issued_at: String(START - 5000), expires_in: 3599 }, 'a new token is dated by the clock as it is')
  t.equal((await verify(answer.access_token)).statusCode, 200)
})

t.test('Revoke-all: it works again after one that was made while the clock was ahead', async (t) => {
  const { administration, credentials, token, verify, clock } = await createWorldOfSuites(t)
  clock.time += 24 * HOUR
  await administration.revokeAllTokens(credentials.client_id)
  clock.time -= 24 * HOUR
  const tokens = [await token()]
  t.equal((await verify(tokens[0])).statusCode, 200)
  clock.time += 1000
  tokens.push(await token())
  await administration.revokeAllTokens(credentials.client_id)
  for (const one of tokens) t.equal((await verify(one)).statusCode, 401)
  t.equal((await verify(await token())).statusCode, 200)
  t.equal((await administration.show(credentials.client_id)).tokensValidFrom, clock.time, 'operators see the last one')
})

t.test('Revoke-all: what was authenticated before it and is issued after it is revoked', async (t) => {
  const { administration, store, credentials, issuer, verify } = await createWorldOfSuites(t)
  const application = await store.findApplication(credentials.client_id)
  if (!application) throw new Error('There is no application')
  await administration.revokeAllTokens(credentials.client_id)
  const { accessToken } = await issuer.issue(application)
  t.equal((await verify(accessToken)).statusCode, 401)
})

t.test("Revoke-all: another application's tokens stay valid", async (t) => {
  const { administration, token, verify } = await createWorldOfSuites(t)
  const { clientId } = await administration.register({ name: 'Other', developerEmail: 'a@b.example' })
  const mine = await token()
  await administration.revokeAllTokens(clientId)
  t.equal((await verify(mine)).statusCode, 200)
})
