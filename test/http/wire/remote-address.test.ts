import t from 'tap'
import { createWorld } from '../../support/world.ts'

t.test(
  'Log: remote_address is the address that a trusted proxy forwards, without port, brackets and zone',
  async (t) => {
    const { app, lines } = await createWorld(t, { trustProxy: ['127.0.0.1'] })
    const cases = {
      '192.0.2.1': '192.0.2.1',
      '192.0.2.1:5678': '192.0.2.1',
      '2001:db8::1': '2001:db8::1',
      '[2001:db8::1]': '2001:db8::1',
      '[2001:db8::1]:5': '2001:db8::1',
      '::1%any-text': '::1',
      '[fe80::1%any-text]:5': 'fe80::1',
      'no address': '127.0.0.1',
      'a:b': '127.0.0.1',
      '192.0.2.1:port': '127.0.0.1',
    }
    for (const [forwarded, expected] of Object.entries(cases)) {
      await app.inject({ url: '/nowhere', headers: { 'x-forwarded-for': forwarded } })
      t.equal(JSON.parse(lines.pop() as string).remote_address, expected, forwarded)
    }
  },
)
