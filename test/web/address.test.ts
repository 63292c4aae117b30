import { isIPv4, isIPv6 } from 'node:net'
import fc from 'fast-check'
import t from 'tap'
import { isPrivate, prefixOf } from '../../src/web/address.ts'

const group = fc.integer({ min: 0, max: 0xffff })
const groups = (length: number) => fc.array(group, { minLength: length, maxLength: length })
const byte = fc.integer({ min: 0, max: 255 })
const ipv4 = fc.tuple(byte, byte, byte, byte).map((bytes) => bytes.join('.'))

/** One of the texts that RFC 4291 §2.2 allows for an IPv6 address: upper or lower case, zeros before and left out. */
const spelling = fc.record({ upper: fc.boolean(), padded: fc.boolean(), compressed: fc.nat(8), zone: fc.boolean() })
type Spelling = typeof spelling extends fc.Arbitrary<infer One> ? One : never

function spell(all: number[], { upper, padded, compressed, zone }: Spelling): string {
  const texts = all.map((one) => one.toString(16).padStart(padded ? 4 : 1, '0'))
  let end = compressed
  while (all[end] === 0) end++
  const text =
    end > compressed ? `${texts.slice(0, compressed).join(':')}::${texts.slice(end).join(':')}` : texts.join(':')
  return (upper ? text.toUpperCase() : text) + (zone ? '%eth0' : '')
}

t.test('Address: an IPv4 address is a prefix of its own, also in IPv6 form', async () => {
  fc.assert(
    fc.property(ipv4, spelling, (address, how) => {
      const [a, b, c, d] = address.split('.').map(Number) as [number, number, number, number]
      const mapped = spell([0, 0, 0, 0, 0, 0xffff, (a << 8) | b, (c << 8) | d], how)
      return [address, `::ffff:${address}`, `0:0:0:0:0:FFFF:${address}`, mapped].every(
        (text) => prefixOf(text) === address,
      )
    }),
  )
})

t.test('Address: of an IPv6 address the first half is the prefix, however the address is written', async () => {
  const left = fc.oneof(
    groups(4),
    groups(4).map(([a = 0, b = 0]) => [a, b, 0, 0]),
  )
  fc.assert(
    fc.property(left, groups(4), spelling, (left, right, how) => {
      const text = spell([...left, ...right], how)
      const prefix = prefixOf(text)
      return isIPv6(text) && (prefix === `${left.map((one) => one.toString(16)).join(':')}::/64` || isIPv4(prefix))
    }),
  )
})

t.test('Address: text that is none is one unknown prefix, and not private', async (t) => {
  for (const text of ['', 'unknown', '_hidden', '192.0.2.1:8080', '[2001:db8::1]', '300.1.1.1', 'x'.repeat(10_000)]) {
    t.strictSame([prefixOf(text), isPrivate(text)], ['unknown', false], text)
  }
  fc.assert(fc.property(fc.string(), (text) => typeof prefixOf(text) === 'string' && !isPrivate(`${text}!`)))
})

t.test('Address: private are loopback, RFC 1918, RFC 6598, link-local and unique local ones', async (t) => {
  const ranges = [
    ['126.255.255.255', '127.0.0.0', '127.255.255.255', '128.0.0.0'],
    ['9.255.255.255', '10.0.0.0', '10.255.255.255', '11.0.0.0'],
    ['172.15.255.255', '172.16.0.0', '172.31.255.255', '172.32.0.0'],
    ['192.167.255.255', '192.168.0.0', '192.168.255.255', '192.169.0.0'],
    ['169.253.255.255', '169.254.0.0', '169.254.255.255', '169.255.0.0'],
    ['100.63.255.255', '100.64.0.0', '100.127.255.255', '100.128.0.0'],
    ['::', '::1', '::1', '::2'],
    ['fbff:ffff:ffff:ffff:ffff:ffff:ffff:ffff', 'fc00::', 'fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff', 'fe00::'],
    ['fe7f:ffff:ffff:ffff:ffff:ffff:ffff:ffff', 'fe80::', 'febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff', 'fec0::'],
  ]
  for (const addresses of ranges) t.strictSame(addresses.map(isPrivate), [false, true, true, false], addresses.join())
  t.strictSame(['fe80::1%eth0', '::ffff:10.0.0.1', '::ffff:192.0.2.1'].map(isPrivate), [true, true, false])
})
