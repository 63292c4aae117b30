import type { Database } from 'better-sqlite3'
import type { Application } from '../issuer/application.ts'

/** More applications than this are not held at once; then it begins anew. */
const ROOM = 50_000

/**
 * Holds applications in memory for as long as no other process changes the database: SQLite is asked for that once in
 * every turn of the event loop, so what another process commits is believed from the next turn on. What this
 * connection itself writes is not noticed: `forget` it. A look-up takes 12 µs, a third of what a token costs.
 */
export function createApplicationMemory(
  db: Database,
  look: (clientId: string) => Application | undefined,
  room = ROOM,
) {
  const dataVersion = db.prepare('PRAGMA data_version').pluck()
  const known = new Map<string, Application>()
  let version = dataVersion.get()
  let current = false

  function find(clientId: string): Application | undefined {
    assertCurrent()
    const remembered = known.get(clientId)
    if (remembered) return remembered
    const application = look(clientId)
    if (known.size >= room) known.clear()
    if (application) known.set(clientId, application)
    return application
  }

  function assertCurrent(): void {
    if (current) return
    const now = dataVersion.get()
    if (now !== version) known.clear()
    version = now
    current = true
    setImmediate(() => {
      current = false
    })
  }

  return { find, forget: () => known.clear() }
}
