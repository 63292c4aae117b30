import { hash } from 'node:crypto'
import type { Database } from 'better-sqlite3'
import type { Random } from '../random.ts'

/** What somebody did to the audit trail by hand. */
export interface Tampering {
  kind: keyof typeof KINDS
  /** The first event that is not as it was, or is gone. */
  first: number
}

type Tamper = (db: Database, random: Random, head: number) => number

/** Each changes events up to that of the head, and returns the first of them. `rewritten`: with new hashes, as the program makes them. */
export const KINDS = {
  changed: change,
  removed: remove,
  added: add,
  moved: move,
  truncated: truncate,
  rewritten(db, random, head) {
    const first = random.pick([changeEvent, remove, add, move])(db, random, head)
    rechain(db)
    return first
  },
} satisfies Record<string, Tamper>

export function tamper(db: Database, random: Random, head: number): Tampering {
  const kind = random.pick(Object.keys(KINDS) as Tampering['kind'][])
  return { kind, first: db.transaction(() => KINDS[kind](db, random, head))() }
}

const NUMBERS = ['at', 'chained_at', 'previous_at']
const NEVER_NULL = ['actor', 'origin', 'remote_address', 'action', 'subject_kind', 'subject']
const TEXTS = [...NEVER_NULL, 'actor_email', 'request_id', 'before', 'after', 'previous_hash', 'hash']

/** Another value in one column. */
function change(db: Database, random: Random, head: number, columns = [...NUMBERS, ...TEXTS]): number {
  const id = random.between(1, head + 1)
  const column = random.pick(columns)
  const old = db.prepare(`SELECT ${column} FROM audit_events WHERE id = ?`).pluck().get(id) as string | number | null
  const text = String(old ?? '')
  const at = random.between(0, text.length + 1)
  const others: (string | number | null)[] = NUMBERS.includes(column)
    ? [Number(old) + 1, Number(old) - random.between(1, 1_000_000)]
    : [`${text.slice(0, at)}0${text.slice(at)}`, ...(text.length > 1 ? [text.slice(0, -1)] : [])]
  if (old !== null && column !== 'at' && !NEVER_NULL.includes(column)) others.push(null)
  db.prepare(`UPDATE audit_events SET ${column} = ? WHERE id = ?`).run(random.pick(others), id)
  return id
}

/** Not the columns of the chain, which new hashes would restore. */
function changeEvent(db: Database, random: Random, head: number): number {
  return change(db, random, head, ['at', ...TEXTS.filter((name) => !name.endsWith('hash'))])
}

function remove(db: Database, random: Random, head: number): number {
  const id = random.between(1, head + 1)
  const last = Math.min(head, id + random.between(0, 5))
  db.prepare('DELETE FROM audit_events WHERE id BETWEEN ? AND ?').run(id, last)
  return id
}

/** An event between two others, or before all: without a hash, with another one's, or with one that fits what is before it. */
function add(db: Database, random: Random, head: number): number {
  const id = random.between(0, head + 1)
  const like = random.between(1, head + 1)
  db.exec('DROP TABLE IF EXISTS temp.added; CREATE TEMP TABLE added AS SELECT * FROM audit_events LIMIT 0')
  db.prepare('INSERT INTO added SELECT * FROM audit_events WHERE id = ?').run(like)
  if (id > 0) {
    // Twice, because no id may be there twice in between.
    db.prepare('UPDATE audit_events SET id = -id - 1 WHERE id >= ?').run(id)
    db.exec('UPDATE audit_events SET id = -id WHERE id < 0')
  }
  db.prepare('UPDATE added SET id = ?').run(id)
  if (random.chance(0.5)) db.exec('UPDATE added SET hash = NULL')
  db.exec('INSERT INTO audit_events SELECT * FROM added')
  if (random.chance(0.3)) rechain(db, id)
  return id
}

/** Two events change places. */
function move(db: Database, random: Random, head: number): number {
  const one = random.between(1, head)
  const other = random.between(one + 1, head + 1)
  const swap = db.prepare('UPDATE audit_events SET id = ? WHERE id = ?')
  swap.run(-1, one)
  swap.run(one, other)
  swap.run(other, -1)
  return one
}

function truncate(db: Database, random: Random, head: number): number {
  const id = random.between(1, head + 1)
  db.prepare('DELETE FROM audit_events WHERE id >= ?').run(id)
  return id
}

const CHAINED =
  'id, at, actor, actor_email, origin, remote_address, request_id, action, subject_kind, subject, before, after, chained_at'

/** Gives all events, or one, the hashes that docs/storage.md describes. */
function rechain(db: Database, only?: number): void {
  const update = db.prepare('UPDATE audit_events SET previous_at = ?, previous_hash = ?, hash = ? WHERE id = ?')
  let previous: [at: number | null, hash: string | null] = [null, null]
  const rows = db.prepare(`SELECT ${CHAINED}, hash FROM audit_events ORDER BY id`).raw().all() as unknown[][]
  for (const row of rows) {
    const [id, at] = row as [number, number]
    let own = row.pop() as string
    if (only === undefined || only === id) {
      own = hash('sha256', JSON.stringify([...row, ...previous]), 'base64url')
      update.run(...previous, own, id)
    }
    previous = [at, own]
  }
}
