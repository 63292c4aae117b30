import { hash, randomFillSync, randomInt } from 'node:crypto'
import Database from 'better-sqlite3'

const MINUTE = 60_000
const BATCH = 100_000
const ID_BYTES = 16
const SECRET_BYTES = 32

/**
 * Writes live tokens directly into a database that no server has open. They were issued over the last 50 minutes, so
 * that none expires during a run. Returns the access tokens of `known` of them, evenly spaced, in random order.
 */
export function fillLive(file: string, count: number, known = 0): string[] {
  const now = Date.now()
  return inRandomOrder(fill(file, { count, known, from: now - 50 * MINUTE, to: now }))
}

/** Writes expired tokens, issued between two hours and 61 minutes ago. */
export function fillExpired(file: string, count: number): void {
  const now = Date.now()
  fill(file, { count, known: 0, from: now - 120 * MINUTE, to: now - 61 * MINUTE })
}

/** The number of stored tokens that have expired by now. */
export function countExpired(file: string): number {
  const db = new Database(file, { readonly: true })
  const before = Buffer.alloc(ID_BYTES)
  before.writeUIntBE(Date.now() - 60 * MINUTE, 0, 6)
  const count = db.prepare('SELECT count(*) FROM tokens WHERE id < ?').pluck().get(before) as number
  db.close()
  return count
}

function fill(
  file: string,
  { count, known, from, to }: { count: number; known: number; from: number; to: number },
): string[] {
  const db = new Database(file)
  db.pragma('synchronous = OFF')
  const applications = db.prepare('SELECT id FROM applications LIMIT 100').pluck().all() as number[]
  const insert = db.prepare('INSERT INTO tokens (id, secret_hash, application_id, issued_at) VALUES (?, ?, ?, ?)')
  const every = known > 0 ? Math.floor(count / known) : Infinity
  const accessTokens: string[] = []
  const bytes = Buffer.alloc(ID_BYTES + SECRET_BYTES)
  const id = bytes.subarray(0, ID_BYTES)
  const secret = bytes.subarray(ID_BYTES)

  const insertBatch = db.transaction((first: number) => {
    for (let at = first; at < Math.min(first + BATCH, count); at++) {
      const issuedAt = from + Math.floor((at * (to - from)) / count)
      randomFillSync(bytes)
      writeId(id, issuedAt, at)
      const isKnown = at % every === 0 && accessTokens.length < known
      if (isKnown) accessTokens.push(bytes.toString('base64url'))
      // Tokens that are never checked may have any bytes as their hash.
      const secretHash = isKnown ? hash('sha256', secret, 'buffer') : secret
      insert.run(id, secretHash, applications[at % applications.length], issuedAt)
    }
  })
  for (let first = 0; first < count; first += BATCH) insertBatch(first)
  db.pragma('wal_checkpoint(TRUNCATE)')
  db.close()
  return accessTokens
}

/** Shuffles a list. */
export function inRandomOrder<Item>(items: Item[]): Item[] {
  for (let at = items.length - 1; at > 0; at--) {
    const other = randomInt(at + 1)
    ;[items[at], items[other]] = [items[other] as Item, items[at] as Item]
  }
  return items
}

/** A UUIDv7 that sorts by creation: the time, a counter of 12 bits, 62 random bits (RFC 9562 §6.2). */
function writeId(id: Buffer, milliseconds: number, at: number): void {
  id.writeUIntBE(milliseconds, 0, 6)
  id.writeUInt16BE(0x7000 | (at & 0xfff), 6)
  id[8] = 0x80 | ((id[8] as number) & 0x3f)
}
