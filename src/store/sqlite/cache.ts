import type { Database } from 'better-sqlite3'
import * as sql from './statements.ts'

/** This many entries of one kind are held at least, twice as many at most. A token takes 300 bytes. */
const ROOM = 25_000

/** The same for what was looked up in vain. Small, for anybody can ask for long names that are not there. */
const ROOM_FOR_MISSING = 1000

export type Memory = ReturnType<typeof createMemory>

/** What a change makes forget: the registry (applications, suites, secrets, approvals), or the tokens. */
type Subject = 'registry' | 'tokens'

/**
 * Holds what is looked up for as long as nobody changes it. Once in every turn of the event loop `assertInPlace` is
 * called and SQLite is asked whether another connection has committed and, if so, whether it changed what is held; so
 * what another process wrote is believed from the next turn on. What this connection itself writes is not noticed:
 * `forget` it. Looking an application up takes 12 µs, a third of what a whole token costs.
 */
export function createMemory(
  db: Database,
  { assertInPlace, room = ROOM }: { assertInPlace: () => void; room?: number },
) {
  const dataVersion = db.prepare('PRAGMA data_version').pluck()
  const countChanges = db.prepare(sql.countChanges)
  const shelves: Record<Subject, { clear: () => void }[]> = { registry: [], tokens: [] }
  let version = dataVersion.get()
  let changes = countChanges.get() as Changes
  let current = false

  /** A look-up that remembers what it found; of the registry, what it did not find too. */
  function hold<Key, Value>(subject: Subject, look: (key: Key) => Value | undefined): (key: Key) => Value | undefined {
    const known = createShelf<Key, Value>(room)
    const missing = createShelf<Key, true>(subject === 'registry' ? ROOM_FOR_MISSING : 0)
    shelves[subject].push(known, missing)
    return (key) => {
      assertCurrent()
      const held = known.get(key)
      // Who measures how long an answer takes must not learn from it whether a name is there.
      if (held !== undefined || missing.get(key)) return held
      const found = look(key)
      if (found !== undefined) known.put(key, found)
      else missing.put(key, true)
      return found
    }
  }

  /** Throws what `assertInPlace` throws, or an SqliteError where the database cannot be read. */
  function assertCurrent(): void {
    if (current) return
    assertInPlace()
    const now = dataVersion.get()
    if (now !== version) {
      const counted = countChanges.get() as Changes
      if (counted.registry !== changes.registry) forget('registry')
      if (counted.revocations !== changes.revocations) forget('tokens')
      changes = counted
      version = now
    }
    current = true
    setImmediate(() => {
      current = false
    })
  }

  function forget(subject: Subject): void {
    for (const shelf of shelves[subject]) shelf.clear()
  }

  return { hold, forget }
}

interface Changes {
  registry: number
  revocations: number
}

/** A map that forgets what was not asked for lately: the young entries, when there are `room`, become the old ones. */
function createShelf<Key, Value>(room: number) {
  let young = new Map<Key, Value>()
  let old = new Map<Key, Value>()

  function get(key: Key): Value | undefined {
    const value = young.get(key)
    if (value !== undefined) return value
    const aged = old.get(key)
    if (aged !== undefined) put(key, aged)
    return aged
  }

  function put(key: Key, value: Value): void {
    if (room === 0) return
    if (young.size >= room) {
      old = young
      young = new Map()
    }
    young.set(key, value)
  }

  function clear(): void {
    young.clear()
    old.clear()
  }

  return { get, put, clear }
}
