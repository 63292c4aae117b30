import { createHash } from 'node:crypto'
import t from 'tap'
import { firstTokenIdAt, isTokenSecret, mintToken, parseToken, tokenIdText } from '../../src/domain/token.ts'
import { keyOf } from '../support/keys.ts'
import { START } from '../support/world.ts'

t.test('Token: 64 characters of base64url, a UUIDv7 and 32 random bytes, of which only a hash is stored', async (t) => {
  const { accessToken, stored } = mintToken(keyOf(7), START, 3)
  t.match(accessToken, /^[A-Za-z0-9_-]{64}$/)
  const bytes = Buffer.from(accessToken, 'base64url')
  t.strictSame(stored, {
    id: bytes.subarray(0, 16),
    secretHash: createHash('sha256').update(bytes.subarray(16)).digest(),
    applicationKey: keyOf(7),
    generation: 3,
    issuedAt: START,
    revokedAt: null,
  })
})

t.test('RFC 9562 §5.7: the id is a UUIDv7 of the time of issue, so ids sort by it', async (t) => {
  const { id } = mintToken(keyOf(7), START).stored
  t.match(tokenIdText(id), /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  t.equal(id.readUIntBE(0, 6), START)
  t.equal(Buffer.compare(firstTokenIdAt(START), id), -1)
  t.equal(Buffer.compare(id, firstTokenIdAt(START + 1)), -1)
})

t.test('RFC 6749 §10.10: no two tokens are alike', async (t) => {
  const tokens = new Set(Array.from({ length: 1000 }, () => mintToken(keyOf(1), START).accessToken.slice(22)))
  t.equal(tokens.size, 1000)
})

t.test('Token: it is recognised by its secret, and by no other', async (t) => {
  const { accessToken, stored } = mintToken(keyOf(7), START)
  const parsed = parseToken(accessToken)
  t.strictSame(parsed?.id, stored.id)
  t.equal(isTokenSecret(parsed?.secret as Buffer, stored), true)
  t.equal(isTokenSecret(Buffer.alloc(32), stored), false)
})

t.test('Token: text that this issuer cannot have issued is not parsed', async (t) => {
  for (const text of ['', 'x', 'a'.repeat(63), 'a'.repeat(65), `${'a'.repeat(63)}=`, `${'a'.repeat(64)}\n`]) {
    t.equal(parseToken(text), undefined)
  }
})
