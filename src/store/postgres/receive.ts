import { locationText, type PostgresLocation } from '../../domain/database-location.ts'
import { OperatorError } from '../../domain/operator-error.ts'
import type { ReadPage, Row, Target } from '../copy.ts'
import { record } from '../shared/audit.ts'
import { runWork } from './commands.ts'
import { PostgresUnavailable } from './explain.ts'
import { findPrimary } from './find-primary.ts'
import { migrate } from './migrate.ts'
import * as sql from './statements/copy.ts'
import { begin, commit, lockRegistry, setLockTimeout } from './statements/session.ts'

const ENDED = new PostgresUnavailable('the copy has ended')

/** How long one step of a copy may take: a page, or the commit, which waits for the standbys. */
const STEP_TIMEOUT_MS = 60_000

/** How long it waits for others that change the registry there. */
const LOCK_TIMEOUT = '2s'

/**
 * Begins a transaction in a store in which nothing is yet, and keeps others from changing its registry. Makes the store if there
 * is none. Rejects with OperatorError where something is there, and with StoreUnavailable.
 */
export async function receive(location: PostgresLocation): Promise<Target> {
  const place = locationText(location)
  const { connection } = await findPrimary(location)
  const ask = <Columns extends unknown[]>(statement: string, values: unknown[] = []) =>
    connection.ask<Columns>(statement, values, STEP_TIMEOUT_MS)
  const close = () => connection.destroy(ENDED)
  try {
    await migrate(connection)
    await ask(begin)
    await ask(setLockTimeout, [LOCK_TIMEOUT])
    await ask(lockRegistry)
    await ask(sql.limitCopy)
    const found = (await ask<[table: string]>(sql.findRows)).map(([table]) => table.replace('_', ' '))
    if (found.length > 0)
      throw new OperatorError(`${place} has ${found.join(', ')} already: copy to an empty database.`)
  } catch (error) {
    close()
    throw error
  }

  const readPage: ReadPage = (table, after, limit) => ask<Row>(sql.copyPage(table), [...after, limit])

  return {
    place,
    readPage,
    async addRows(table, rows) {
      const columns = (rows[0] as Row).map((_, column) => rows.map((row) => row[column]))
      await ask(sql.insertRows(table), columns)
    },
    async setLastKey(table, key) {
      await ask(sql.setLastKey, [table, key])
    },
    record: (audit, entry) => runWork(record(audit, [entry]), ask),
    async commit() {
      await ask(commit)
    },
    close,
  }
}
