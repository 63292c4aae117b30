import Database from 'better-sqlite3'

// What the peers share.

/** The one client that the peers know. */
export const peerClient = {
  client_id: 'fGRB0YkSebqKmtSvwMb7Sfa1sR97KK3Z',
  client_secret: 'q5u0V7bJmXn2Lr9TzKc4WdYh8GsPf1EaRx6BvNtM',
}

/** The lifetime of the peers' tokens in seconds, the same as this server's. */
export const LIFETIME = 3600

/** The durable store in the file that STORE names; undefined for `memory`. */
export function durableStore() {
  const { STORE } = process.env
  return STORE === undefined || STORE === 'memory' ? undefined : openDurable(STORE)
}

/** A key-value store as durable as this server's: each `put` is on disk when it returns. */
function openDurable(path: string) {
  const db = new Database(path)
  db.pragma('journal_mode = WAL')
  db.pragma('synchronous = FULL')
  db.exec('CREATE TABLE IF NOT EXISTS tokens (id TEXT PRIMARY KEY, value TEXT NOT NULL, expires_at INTEGER NOT NULL)')
  const insert = db.prepare('INSERT OR REPLACE INTO tokens (id, value, expires_at) VALUES (?, ?, ?)')
  const select = db.prepare('SELECT value FROM tokens WHERE id = ? AND expires_at > ?').pluck()
  const remove = db.prepare('DELETE FROM tokens WHERE id = ?')

  return {
    put: (id: string, value: unknown, lifetimeSeconds: number) =>
      void insert.run(id, JSON.stringify(value), Date.now() + lifetimeSeconds * 1000),
    get: (id: string) => {
      const json = select.get(id, Date.now()) as string | undefined
      return json === undefined ? undefined : JSON.parse(json)
    },
    delete: (id: string) => void remove.run(id),
  }
}
