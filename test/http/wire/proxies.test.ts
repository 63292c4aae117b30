import t from 'tap'
import { createProxies } from '../../../src/http/wire/proxies.ts'
import { createWorld } from '../../support/world.ts'

const FORWARDED = { 'x-forwarded-for': '192.0.2.7' }

t.test('TRUST_PROXY: off, a private address that forwards for others is said once', async (t) => {
  const { app, lines } = await createWorld(t)
  const ask = (remoteAddress: string, headers = {}) => app.inject({ url: '/health/live', remoteAddress, headers })
  await ask('10.0.0.1')
  await ask('192.0.2.1', FORWARDED)
  await ask('192.0.2.1', FORWARDED)
  t.strictSame(lines, [])
  for (let n = 0; n < 3; n++) await ask('10.0.0.1', FORWARDED)
  await ask('::1', FORWARDED)
  t.match(
    lines.map((line) => JSON.parse(line)),
    [
      { level: 40, msg: 'proxy not trusted', remote_address: '10.0.0.1', setting: 'TRUST_PROXY' },
      { msg: 'proxy not trusted', remote_address: '::1' },
    ],
  )
  t.equal(lines.length, 2)
})

t.test(
  'TRUST_PROXY: off, failures behind such a proxy are limited for each client, not for all together',
  async (t) => {
    const { post, credentials } = await createWorld(t)
    const fail = async (clientId: string, headers = {}) =>
      (await post({ ...credentials, client_id: clientId, client_secret: 'wrong' }, headers)).statusCode
    for (let n = 0; n < 150; n++) t.equal(await fail(`client ${n}`, FORWARDED), 401)
    for (let n = 0; n < 10; n++) t.equal(await fail('a'), 401)
    t.equal(await fail('a'), 429)
  },
)

t.test('TRUST_PROXY: set, each client behind the proxy has its own address, and nothing is said', async (t) => {
  const { post, credentials, lines } = await createWorld(t, { trustProxy: ['127.0.0.1'] })
  const fail = async (address: string, n: number) =>
    (
      await post(
        { ...credentials, client_id: `client ${n}`, client_secret: 'wrong' },
        { 'x-forwarded-for': `10.9.9.9, ${address}` },
      )
    ).statusCode
  for (let n = 0; n < 100; n++) t.equal(await fail('192.0.2.1', n), 401)
  t.strictSame([await fail('192.0.2.1', 100), await fail('192.0.2.2', 100)], [429, 401])
  t.notMatch(lines.join(), /proxy not trusted/)
})

t.test('TRUST_PROXY: as many proxies are noticed as any network has, and no more', async (t) => {
  let said = 0
  const { notice, isShared } = createProxies({ trustProxy: false, observe: () => said++ })
  for (let n = 0; n < 2000; n++) notice(`10.0.${n >> 8}.${n & 255}`)
  t.strictSame([said, isShared('10.0.0.9'), isShared('10.0.7.9')], [1024, true, false])
})

t.test('TRUST_PROXY: that names another proxy than the one that forwards, the one that forwards is said', async (t) => {
  const { app, lines } = await createWorld(t, { trustProxy: ['10.0.0.1', 'fe80::1'] })
  for (const remoteAddress of ['10.0.0.1', '10.0.0.2', 'fe80::1%eth0', 'fe80::2%eth0', '10.0.0.1', '10.0.0.2']) {
    await app.inject({ url: '/health/live', remoteAddress, headers: FORWARDED })
  }
  t.strictSame(
    lines.map((line) => JSON.parse(line).remote_address),
    ['10.0.0.2', 'fe80::2'],
  )
})

t.test('TRUST_PROXY: set, failures behind a proxy that does not forward are limited for each client', async (t) => {
  const { post, credentials } = await createWorld(t, { trustProxy: ['127.0.0.1'] })
  const fail = async (clientId: string) =>
    (await post({ ...credentials, client_id: clientId, client_secret: 'wrong' })).statusCode
  for (let n = 0; n < 150; n++) t.equal(await fail(`client ${n}`), 401)
})

t.test('TRUST_PROXY: a client that is gone is no proxy', async (t) => {
  const { isShared } = createProxies({ trustProxy: ['10.0.0.0/8'], observe: () => {} })
  t.strictSame([isShared('undefined'), isShared('10.1.2.3'), isShared('::ffff:10.1.2.3')], [false, true, true])
})
