import t, { type Test } from 'tap'
import type { ApplicationChanges } from '../../src/domain/application.ts'
import { createWorldOfSuites } from '../support/world.ts'

const REVOKE = '/v1/oauth/revoke'
const HERE = '192.0.2.9'
const ELSEWHERE = '198.51.100.7'

/** A world whose application has source addresses. `from` sends its credentials from an address, as a proxy reports it. */
async function createLimitedWorld(t: Test, changes: ApplicationChanges = {}, more = {}) {
  const world = await createWorldOfSuites(t, { trustProxy: ['127.0.0.1'], ...more })
  const { administration, credentials, post } = world
  const set = (changes: ApplicationChanges) => administration.update(credentials.client_id, changes)
  await set({ sourceAddresses: ['192.0.2.0/24', '2001:db8::1'], ...changes })
  const from = (address: string, form = {}, path?: string) =>
    post({ ...credentials, ...form }, { 'x-forwarded-for': address, 'x-request-id': 'a' }, path)
  const statusesFrom = async (address: string, count: number, form = {}) => {
    const statuses: number[] = []
    for (let n = 0; n < count; n++) statuses.push((await from(address, form)).statusCode)
    return statuses
  }
  return { ...world, set, from, statusesFrom }
}

t.test(
  'Source addresses: from elsewhere, the answer to a correct secret is that to a wrong one, to the byte',
  async (t) => {
    const { from, logged, lines, administration, credentials, flushUsage } = await createLimitedWorld(t, {
      reportOnly: ['quota'],
    })
    const wrong = { client_secret: 'wrong' }
    for (const [path, form] of [[undefined, {}] as const, [REVOKE, { token: 'x' }] as const]) {
      lines.length = 0
      const [one, other] = [await from(ELSEWHERE, form, path), await from(ELSEWHERE, { ...form, ...wrong }, path)]
      const seen = ({ statusCode, statusMessage, body, headers: { date, ...headers } }: typeof one) => {
        return { statusCode, statusMessage, body, headers }
      }
      t.equal(one.statusCode, 401)
      t.strictSame(seen(one), seen(other))
      const line = { msg: 'authentication refused', remote_address: ELSEWHERE }
      t.match(logged(), [
        { ...line, reason: 'address not allowed', client_id: credentials.client_id, endpoint: path ?? /accesstoken/ },
        { ...line, reason: 'wrong secret' },
      ])
    }
    await flushUsage()
    t.match(
      await administration.listSecrets(credentials.client_id),
      [{ lastUsedAt: undefined }],
      'the secret was not used',
    )
  },
)

t.test(
  'Source addresses: an address in a range passes, however it is written, and without a list every one',
  async (t) => {
    const { from, set } = await createLimitedWorld(t)
    const statusOf = async (address: string) => (await from(address)).statusCode
    for (const address of [
      HERE,
      '192.0.2.255',
      '::ffff:192.0.2.9',
      '192.0.2.9:4711',
      '2001:db8::1',
      '[2001:DB8:0::1]:80',
    ])
      t.equal(await statusOf(address), 200, address)
    for (const address of ['192.0.3.0', '::ffff:192.0.3.0', '2001:db8::2', '::192.0.2.9', '127.0.0.1', 'unknown'])
      t.equal(await statusOf(address), 401, address)
    await set({ sourceAddresses: ['192.0.0.0/16', '192.0.2.0/24', '::ffff:198.51.100.0/120', 'fe80::/10'] })
    for (const address of ['192.0.3.0', ELSEWHERE, 'fe80::1%eth0']) t.equal(await statusOf(address), 200, address)
    t.equal(await statusOf('198.51.101.1'), 401)
    await set({ sourceAddresses: [] })
    for (const address of [ELSEWHERE, '2001:db8::2']) t.equal(await statusOf(address), 200, address)
  },
)

t.test('Source addresses: a token that it has is valid from everywhere', async (t) => {
  const { from, set, verify, introspect } = await createLimitedWorld(t)
  const token = (await from(HERE)).json().access_token
  await set({ sourceAddresses: ['203.0.113.1'] })
  t.equal((await from(HERE)).statusCode, 401)
  t.equal((await verify(token)).statusCode, 200)
  t.equal((await introspect(token)).json().active, true)
})

t.test(
  'ADR 14: a correct secret from elsewhere counts as a failure, like a wrong one, and locks nobody out',
  async (t) => {
    const { statusesFrom } = await createLimitedWorld(t)
    const allowed = [...Array(10).fill(401), 429, 429]
    t.strictSame(await statusesFrom(ELSEWHERE, 12), allowed)
    t.strictSame(await statusesFrom('203.0.113.1', 12, { client_secret: 'wrong' }), allowed, 'nothing tells them apart')
    t.strictSame(await statusesFrom('2001:db8::2', 12), allowed)
    for (const address of [HERE, '2001:db8::1']) t.strictSame(await statusesFrom(address, 1), [200], 'also of that /64')
  },
)

t.test('Report only: from elsewhere it gets tokens, and the log and `why` have the address', async (t) => {
  const world = await createLimitedWorld(t, { reportOnly: ['source_addresses'] })
  const { from, set, logged, lines, store, administration, credentials, flushRefusals, flushUsage, clock } = world
  const id = credentials.client_id
  await administration.approve(id, 'product-information')
  await from(HERE)
  t.strictSame(
    logged().map(({ msg }) => msg),
    ['token issued'],
  )
  lines.length = 0
  const { access_token: token } = (await from(ELSEWHERE)).json()
  t.equal((await from(ELSEWHERE, { token }, REVOKE)).statusCode, 200)
  const reason = 'address not allowed (report only)'
  const report = { msg: 'request would be refused', reason, client_id: id, method: 'POST' }
  const source = { request_id: 'a', remote_address: ELSEWHERE }
  t.match(logged(), [
    { msg: 'token issued' },
    { ...report, ...source, endpoint: '/v1/oauth/accesstoken' },
    { ...report, ...source, endpoint: REVOKE },
    { msg: 'token revoked' },
  ])
  t.notOk('status' in logged()[1])
  await flushRefusals()
  t.match((await administration.why(id)).lines, [/^Its requests would be refused/], 'not that it has not asked yet')
  await flushUsage()
  t.strictSame(await store.listRefusedRequests({ limit: 9 }), [], 'nothing was refused')
  t.match(await store.listUsage([id], 60_000 * 5, [clock.time]), [{ refusals: 0 }])
  const { health, lines: said, refusals } = await administration.why(id)
  t.equal(health, 'doubtful')
  t.match(said[0], /^The last token was issued 0 s ago, and nothing was refused\.$/)
  t.match(
    said[1],
    /^Its requests would be refused, 2 times, .* from 198\.51\.100\.7\. Its source addresses are only reported\./,
  )
  t.match(
    said[1],
    /Its secret or JWT is right, but .* do not include 198\.51\.100\.7\. .* update \w+ --source 198\.51\.100\.7".*TRUST_PROXY.*Otherwise somebody else has its secret or JWT\. .*: "secrets rotate \w+ --overlap 0"\.$/,
  )
  t.match(refusals, [
    { reason, remoteAddress: ELSEWHERE },
    { reason, remoteAddress: ELSEWHERE },
  ])
  await set({ sourceAddresses: ['192.0.2.0/24', ELSEWHERE] })
  t.equal((await administration.why(id)).health, 'well', 'it is one of them now')
  await set({ sourceAddresses: ['192.0.2.0/24'], reportOnly: [] })
  t.equal((await administration.why(id)).health, 'well', 'what would have been refused before is not said any more')
  t.equal((await from(ELSEWHERE)).statusCode, 401, 'now it is refused')
})

t.test('Report only: above its quota it gets tokens, and each is reported', async (t) => {
  const { from, set, logged, lines, flushUsage, flushRefusals, administration, credentials, clock } =
    await createLimitedWorld(t, { sourceAddresses: [], reportOnly: ['quota'], quota: 2 })
  const messages = () => logged().map(({ msg, reason }) => reason ?? msg)
  const reason = 'token quota exceeded (report only)'
  for (let n = 0; n < 2; n++) t.equal((await from(HERE)).statusCode, 200)
  t.strictSame(messages(), ['token issued', 'token issued'])
  t.equal((await from(HERE)).statusCode, 200)
  t.strictSame(messages().slice(2), ['token issued', reason])
  t.strictSame(await flushUsage(), [], 'none was refused')
  await flushRefusals()
  const said = async () => (await administration.why(credentials.client_id)).lines.join('\n')
  const warning = /One of its requests would have been refused .*Its quota of tokens is only reported.*--quota N/
  t.match(await said(), warning)
  clock.time += 24 * 60 * 60_000
  t.match(await said(), warning)
  clock.time += 1
  t.notMatch(await said(), warning, 'a day later it is over')
  await set({ reportOnly: [] })
  lines.length = 0
  for (const status of [200, 200, 429]) t.equal((await from(HERE)).statusCode, status)
})

t.test('Report only: TOKEN_QUOTA is reported, and the own quota of an application is not', async (t) => {
  const { from, set, logged } = await createLimitedWorld(t, {}, { tokenQuota: 1, quotaIsReportOnly: true })
  for (let n = 0; n < 3; n++) t.equal((await from(HERE)).statusCode, 200)
  t.equal(logged().filter(({ msg }) => msg === 'request would be refused').length, 2)
  await set({ quota: 4 })
  t.equal((await from(HERE)).statusCode, 200)
  t.equal((await from(HERE)).statusCode, 429)
})
