import t from 'tap'
import type { Event } from '../../../src/domain/events.ts'
import { openStore } from '../../../src/store/open.ts'
import type { Opened } from '../../../src/store/opened.ts'
import { emptyDatabase } from '../../support/postgres/databases.ts'
import { locationOf } from '../../support/postgres/location.ts'
import { startDatabases } from '../../support/postgres/postgres.ts'

/**
 * Opens some stores on one database when they are needed first. Resolves to a function that empties the database for a test
 * and tells what the stores say from then on: a new database would take longer than most tests.
 */
export async function startStores(count: number, lockTimeout = 10_000) {
  const { createDatabase } = await startDatabases()
  let opened: Promise<{ url: string; stores: Opened[] }> | undefined
  const events: Event[] = []

  async function open() {
    const url = await createDatabase()
    const observe = (event: Event) => void events.push(event)
    const stores = await Promise.all(
      Array.from({ length: count }, () => openStore(locationOf(url), { lockTimeout, observe })),
    )
    for (const store of stores) t.teardown(() => store.close())
    return { url, stores }
  }

  return async () => {
    opened ??= open()
    const { url, stores } = await opened
    await emptyDatabase(url)
    events.length = 0
    return { url, events, stores: stores as [Opened, Opened, ...Opened[]] }
  }
}
