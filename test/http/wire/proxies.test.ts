import t, { type Test } from 'tap'
import { createProxies } from '../../../src/http/wire/proxies.ts'
import { createWorld } from '../../support/world.ts'

const FORWARDED = { 'x-forwarded-for': '192.0.2.7' }

/** `fail` sends this many wrong secrets, each with another client id, and resolves to the last status. */
async function createFailingWorld(t: Test, trustProxy: string[] | false = false) {
  const { app, post, credentials, lines } = await createWorld(t, { trustProxy })
  async function fail(times: number, headers = {}, clientId?: string) {
    let last = 0
    for (let n = 0; n < times; n++) {
      const form = { ...credentials, client_id: clientId ?? `client ${n}`, client_secret: 'wrong' }
      last = (await post(form, headers)).statusCode
    }
    return last
  }
  return { app, lines, fail }
}

t.test('TRUST_PROXY: if off, a private address that forwards for others is reported once', async (t) => {
  const { app, logged } = await createWorld(t)
  const ask = (remoteAddress: string, headers = {}) => app.inject({ url: '/health/live', remoteAddress, headers })
  await ask('10.0.0.1')
  for (const address of ['192.0.2.1', '10.0.0.1', '10.0.0.1', '10.0.0.1', '::1']) await ask(address, FORWARDED)
  t.match(logged(), [
    { level: 40, msg: 'proxy not trusted', remote_address: '10.0.0.1', setting: 'TRUST_PROXY' },
    { msg: 'proxy not trusted', remote_address: '::1' },
  ])
  t.equal(logged().length, 2)
})

t.test('TRUST_PROXY: failures behind a proxy are limited for each client, not for all together', async (t) => {
  const { fail } = await createFailingWorld(t)
  t.equal(await fail(110, FORWARDED), 401, 'off, behind one that forwards')
  t.equal(await fail(10, {}, 'a'), 401)
  t.equal(await fail(1, {}, 'a'), 429)
  const trusting = await createFailingWorld(t, ['127.0.0.1'])
  t.equal(await trusting.fail(110), 401, 'set, behind one that does not forward')
  const from = (address: string) => ({ 'x-forwarded-for': `10.9.9.9, ${address}` })
  t.equal(await trusting.fail(100, from('192.0.2.1')), 401, 'set, each client has its own address')
  t.equal(await trusting.fail(1, from('192.0.2.1')), 429)
  t.equal(await trusting.fail(1, from('192.0.2.2')), 401)
  t.notMatch(trusting.lines.join(), /proxy not trusted/)
})

t.test('TRUST_PROXY: only so many proxies are remembered, and no client that has disconnected', async (t) => {
  let said = 0
  const { notice, isShared } = createProxies({ trustProxy: false, observe: () => said++ })
  for (let n = 0; n < 2000; n++) notice(`10.0.${n >> 8}.${n & 255}`)
  t.strictSame([said, isShared('10.0.0.9'), isShared('10.0.7.9')], [1024, true, false])
  const trusting = createProxies({ trustProxy: ['10.0.0.0/8'], observe: () => {} })
  t.strictSame(['10.1.2.3', '::ffff:10.1.2.3', 'undefined'].map(trusting.isShared), [true, true, false])
})

t.test('TRUST_PROXY: a forwarding proxy is reported if only another one is trusted', async (t) => {
  const { app, logged } = await createWorld(t, { trustProxy: ['10.0.0.1', 'fe80::1'] })
  for (const remoteAddress of ['10.0.0.1', '10.0.0.2', 'fe80::1%eth0', 'fe80::2%eth0', '10.0.0.1', '10.0.0.2']) {
    await app.inject({ url: '/health/live', remoteAddress, headers: FORWARDED })
  }
  t.match(logged(), [{ remote_address: '10.0.0.2' }, { remote_address: 'fe80::2' }])
  t.equal(logged().length, 2)
})
