import { crc32 } from 'node:zlib'
import t from 'tap'
import { generateAdminKey, isAdminKey } from '../../src/domain/operator-keys.ts'

const KNOWN = `otsa_${'A'.repeat(43)}`
/** Its CRC-32 is 1083878949. */
const CHECKSUM = '1BLqQX'

t.test('Admin keys: a key has a prefix, 43 random characters and a checksum', async (t) => {
  const key = generateAdminKey()
  t.match(key, /^otsa_[A-Za-z0-9]{49}$/)
  t.not(key, generateAdminKey())
  t.ok(isAdminKey(key))
})

t.test('Admin keys: the checksum is the zero-padded base-62 CRC-32 of all characters before it', async (t) => {
  const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
  const numberOf = (text: string) => [...text].reduce((number, digit) => number * 62 + digits.indexOf(digit), 0)
  t.ok(isAdminKey(`${KNOWN}${CHECKSUM}`))
  for (let n = 0; n < 1000; n++) {
    const key = generateAdminKey()
    t.equal(numberOf(key.slice(-6)), crc32(key.slice(0, -6)))
  }
})

t.test('Admin keys: a wrong prefix, length, character or checksum is malformed', async (t) => {
  const key = generateAdminKey()
  const other = (character: string | undefined) => (character === 'x' ? 'y' : 'x')
  const wrong = [
    '',
    KNOWN,
    key.slice(0, -1),
    `${key}0`,
    ` ${key}`,
    `${key}\n`,
    key.replace('otsa_', 'otsb_'),
    key.replace('otsa_', 'OTSA_'),
    `${key.slice(0, 20)}-${key.slice(21)}`,
    `${key.slice(0, -6)}${'0'.repeat(6)}`,
  ]
  for (const text of wrong) t.notOk(isAdminKey(text), text)
  for (let at = 5; at < key.length; at++) {
    t.notOk(isAdminKey(`${key.slice(0, at)}${other(key[at])}${key.slice(at + 1)}`), `character ${at} is another one`)
  }
})

t.test('Admin keys: all characters are equally likely', async (t) => {
  const counts = new Map<string, number>()
  for (let n = 0; n < 2000; n++) {
    for (const character of generateAdminKey().slice(5, 48)) counts.set(character, (counts.get(character) ?? 0) + 1)
  }
  const expected = (2000 * 43) / 62
  t.equal(counts.size, 62)
  // Seven standard deviations. With bytes modulo 62, eight characters would be a quarter too frequent.
  for (const [character, count] of counts) t.ok(Math.abs(count - expected) < 7 * Math.sqrt(expected), character)
})
