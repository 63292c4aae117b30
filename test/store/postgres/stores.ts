import t, { type Test } from 'tap'
import type { PostgresHost, PostgresLocation } from '../../../src/domain/database-location.ts'
import type { Event } from '../../../src/domain/events.ts'
import { openStore } from '../../../src/store/open.ts'
import type { Opened, OpenOptions } from '../../../src/store/opened.ts'
import { type Connection, connect } from '../../../src/store/postgres/connection.ts'
import { PostgresUnavailable } from '../../../src/store/postgres/errors.ts'
import { migrate } from '../../../src/store/postgres/migrate.ts'
import { DELETE_ALL, keepClient } from '../../support/postgres/databases.ts'
import { locationOf } from '../../support/postgres/location.ts'
import { startDatabases } from '../../support/postgres/postgres.ts'

/** A new database, migrated. */
export async function newLocation() {
  const url = await (await startDatabases()).createDatabase()
  return { url, location: locationOf(url) }
}

/** Opens a store that is closed with the test. */
export async function open(t: Test, location: PostgresLocation, options: Partial<OpenOptions> = {}) {
  const store = await openStore(location, { lockTimeout: 1000, ...options })
  t.teardown(() => store.close())
  return store
}

/** Migrates a database on its own connection, like a node that starts. */
export async function migrateAt(url: string, options: Parameters<typeof migrate>[1]) {
  const connection = await connectTo(url)
  try {
    return await migrate(connection, options)
  } finally {
    end(connection)
  }
}

export function connectTo(url: string): Promise<Connection> {
  const location = locationOf(url)
  return connect(location, location.hosts[0] as PostgresHost)
}

export function end(connection: Connection): void {
  connection.destroy(new PostgresUnavailable('not needed'))
}

/**
 * Opens some stores on one database when they are first needed. Resolves to a function that empties the database for a test
 * and collects the events from then on: a new database would take longer than most tests.
 */
export async function startStores(count: number, lockTimeout = 10_000) {
  let opened: ReturnType<typeof openAll> | undefined
  const events: Event[] = []

  async function openAll() {
    const { url, location } = await newLocation()
    const observe = (event: Event) => void events.push(event)
    const opening = Array.from({ length: count }, () => open(t, location, { lockTimeout, observe }))
    return { url, stores: await Promise.all(opening), hand: await keepClient(t, url) }
  }

  return async () => {
    opened ??= openAll()
    const { url, stores, hand } = await opened
    await hand.query(DELETE_ALL)
    events.length = 0
    return { url, events, stores: stores as [Opened, Opened, ...Opened[]] }
  }
}
