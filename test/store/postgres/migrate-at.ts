import type { PostgresHost } from '../../../src/domain/database-location.ts'
import { type Connection, connect } from '../../../src/store/postgres/connection.ts'
import { PostgresUnavailable } from '../../../src/store/postgres/explain.ts'
import { migrate } from '../../../src/store/postgres/migrate.ts'
import { locationOf } from '../../support/postgres/location.ts'

/** Migrates a database on a connection of its own, as a node that starts. */
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
