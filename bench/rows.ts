import { hash, randomFillSync, randomInt } from 'node:crypto'
import Database from 'better-sqlite3'

const MINUTE = 60_000
const BATCH = 100_000
const ID_BYTES = 16
const SECRET_BYTES = 32

/**
 * Writes live tokens straight into a database that no server has open, issued over the last 50 minutes: none expires
 * while it is measured. Returns the text of `known` of them, picked evenly and in random order.
 */
export function fillLive(file: string, count: number, known = 0): string[] {
  const now = Date.now()
  const texts = fill(file, { count, known, from: now - 50 * MINUTE, to: now })
  for (let at = texts.length - 1; at > 0; at--) {
    const other = randomInt(at + 1)
    ;[texts[at], texts[other]] = [texts[other] as string, texts[at] as string]
  }
  return texts
}

/** Writes expired tokens, issued between two hours and 61 minutes ago. */
export function fillExpired(file: string, count: number): void {
  const now = Date.now()
  fill(file, { count, known: 0, from: now - 120 * MINUTE, to: now - 61 * MINUTE })
}

/** How many tokens are stored that have expired by now. */
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
  const texts: string[] = []
  const bytes = Buffer.alloc(ID_BYTES + SECRET_BYTES)
  const id = bytes.subarray(0, ID_BYTES)
  const secret = bytes.subarray(ID_BYTES)

  const insertBatch = db.transaction((first: number) => {
    for (let at = first; at < Math.min(first + BATCH, count); at++) {
      const issuedAt = from + Math.floor((at * (to - from)) / count)
      randomFillSync(bytes)
      writeId(id, issuedAt, at)
      const isKnown = at % every === 0 && texts.length < known
      if (isKnown) texts.push(bytes.toString('base64url'))
      // A hash that nobody asks about may be any bytes.
      const secretHash = isKnown ? hash('sha256', secret, 'buffer') : secret
      insert.run(id, secretHash, applications[at % applications.length], issuedAt)
    }
  })
  for (let first = 0; first < count; first += BATCH) insertBatch(first)
  db.pragma('wal_checkpoint(TRUNCATE)')
  db.close()
  return texts
}

/** A UUIDv7 that sorts as it was made: the time, 12 bits that count on, 62 random ones (RFC 9562 §6.2). */
function writeId(id: Buffer, milliseconds: number, at: number): void {
  id.writeUIntBE(milliseconds, 0, 6)
  id.writeUInt16BE(0x7000 | (at & 0xfff), 6)
  id[8] = 0x80 | ((id[8] as number) & 0x3f)
}
