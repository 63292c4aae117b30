import Database from 'better-sqlite3'

/** A key-value store as durable as this server's: each `put` is on disk when it returns. */
export function openDurable(path: string) {
  const db = new Database(path)
  db.pragma('journal_mode = WAL')
  db.pragma('synchronous = FULL')
  db.exec('CREATE TABLE IF NOT EXISTS tokens (id TEXT PRIMARY KEY, value TEXT NOT NULL, expires_at INTEGER NOT NULL)')
  const insert = db.prepare('INSERT OR REPLACE INTO tokens (id, value, expires_at) VALUES (?, ?, ?)')
  const select = db.prepare('SELECT value FROM tokens WHERE id = ? AND expires_at > ?').pluck()
  const remove = db.prepare('DELETE FROM tokens WHERE id = ?')

  return {
    /** `seconds`: how long it lives. */
    put: (id: string, value: unknown, seconds: number) =>
      void insert.run(id, JSON.stringify(value), Date.now() + seconds * 1000),
    get: (id: string) => {
      const json = select.get(id, Date.now()) as string | undefined
      return json === undefined ? undefined : JSON.parse(json)
    },
    delete: (id: string) => void remove.run(id),
  }
}

/** The file that STORE names, or undefined for `memory`. */
export function durableStore() {
  const { STORE } = process.env
  return STORE === undefined || STORE === 'memory' ? undefined : openDurable(STORE)
}
