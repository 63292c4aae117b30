import { hash } from 'node:crypto'
import { firstTokenIdAt, TOKEN_LIFETIME } from '../../../src/domain/token.ts'
import { inRandomOrder } from './fill.ts'
import type { Postgres } from './postgres.ts'

const MINUTE = 60_000
const BATCH = 1_000_000

/** A database on a PostgreSQL server. */
interface Place {
  postgres: Postgres
  url: string
}

/**
 * Writes live tokens directly into a database. They were issued over the last 10 minutes, so that none expires during a
 * run. Returns the access tokens of `known` of them, evenly spaced, in random order.
 */
export async function fillLive(place: Place, count: number, known: number): Promise<string[]> {
  const now = Date.now()
  const tokens = { from: now - 10 * MINUTE, to: now, count }
  await fill(place, tokens)
  const every = Math.floor(count / known)
  return inRandomOrder(Array.from({ length: known }, (_, at) => accessToken(at * every, tokens)))
}

/** Writes expired tokens, issued between two hours and 61 minutes ago. */
export async function fillExpired(place: Place, count: number): Promise<void> {
  const now = Date.now()
  await fill(place, { from: now - 120 * MINUTE, to: now - 61 * MINUTE, count })
}

/** The number of stored tokens that have expired by now. */
export async function countExpired({ postgres, url }: Place): Promise<number> {
  const before = firstTokenIdAt(Date.now() - TOKEN_LIFETIME).toString('hex')
  const rows = await postgres.query(url, 'SELECT count(*)::int AS n FROM tokens WHERE id < $1', [before])
  return rows[0].n
}

interface Tokens {
  from: number
  to: number
  count: number
}

/** The token of each number is made from that number: in SQL, and by accessToken below. */
const FILL = `
  INSERT INTO tokens (id, secret_hash, application_id, issued_at)
  SELECT (lpad(to_hex(issued_at), 12, '0') || '7' || lpad(to_hex(n & 4095), 3, '0')
            || '8' || left(md5(n::text), 15))::uuid,
         sha256(sha256(n::text::bytea)),
         (SELECT min(id) FROM applications),
         issued_at
    FROM generate_series($1::bigint, $2::bigint) AS n,
         LATERAL (SELECT $3::bigint + n * ($4::bigint - $3::bigint) / $5::bigint AS issued_at) AS time`

async function fill({ postgres, url }: Place, { from, to, count }: Tokens): Promise<void> {
  for (let first = 0; first < count; first += BATCH) {
    const last = Math.min(first + BATCH, count) - 1
    await postgres.query(url, FILL, [first, last, from, to, count])
  }
  // What PostgreSQL would do in the background, while something is being measured.
  await postgres.query(url, 'VACUUM (ANALYZE) tokens')
  await postgres.query(url, 'CHECKPOINT')
}

function accessToken(n: number, { from, to, count }: Tokens): string {
  const issuedAt = from + Math.floor((n * (to - from)) / count)
  const hex = (number: number, digits: number) => number.toString(16).padStart(digits, '0')
  const id = `${hex(issuedAt, 12)}7${hex(n & 4095, 3)}8${hash('md5', String(n)).slice(0, 15)}`
  return Buffer.concat([Buffer.from(id, 'hex'), hash('sha256', String(n), 'buffer')]).toString('base64url')
}
