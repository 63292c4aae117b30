import { locationText, type PostgresLocation } from '../../domain/database-location.ts'
import type { Store } from '../../domain/store.ts'
import type { Opened, OpenOptions } from '../opened.ts'
import { createSharedParts } from '../shared/parts.ts'
import { type Database, singleValue } from '../shared/work.ts'
import { type Commands, createCommands } from './commands.ts'
import { askWithin } from './connection.ts'
import { riskySettings } from './find-primary.ts'
import { migrate } from './migrate.ts'
import { createNodes } from './nodes.ts'
import { keepPrimary } from './primary.ts'
import { createPurge } from './purge.ts'
import { createReads } from './reads.ts'
import * as sql from './statements/tokens.ts'
import { createTokenWrites } from './tokens.ts'

const OPEN_TIMEOUT_MS = 10_000

/** Opens a PostgreSQL database as a migrated store. Rejects with StoreUnavailable or OperatorError. */
export async function openPostgres(
  location: PostgresLocation,
  { lockTimeout, create = true, observe = () => {} }: OpenOptions,
): Promise<Opened> {
  const database = locationText(location)
  const primary = await keepPrimary(location, { timeout: OPEN_TIMEOUT_MS, observe })
  const opening = primary.session().then(async ({ commands }) => ({
    migrated: await migrate(commands, { create, place: database }),
    riskySettings: await riskySettings(askWithin(commands, OPEN_TIMEOUT_MS), location),
  }))
  const found = await opening.catch((error) => {
    primary.close()
    throw error
  })
  const commands = createCommands(primary, lockTimeout)
  const { assertWritable, ...tokenWrites } = createTokenWrites(primary, observe)
  const { size, countLiveTokens } = createOwnFigures(commands)

  return {
    ...createReads(primary, database, assertWritable),
    ...createSharedParts({ ...commands, size }),
    ...tokenWrites,
    countLiveTokens,
    nodes: createNodes(commands),
    purge: createPurge(commands),
    close: async () => primary.close(),
    database,
    ...found,
  }
}

function createOwnFigures({ askInBackground }: Commands): Pick<Database, 'size'> & Pick<Store, 'countLiveTokens'> {
  return {
    async size() {
      const database = askInBackground('SELECT pg_database_size(current_database())')
      return { database: await singleValue(database), log: undefined }
    },

    async countLiveTokens(fromId, limit) {
      const values = [fromId.toString('hex'), limit + 1]
      const [row] = await askInBackground<[all: number, live: number]>(sql.countLiveTokens, values)
      const [all, live] = row as [number, number]
      return all > limit ? undefined : live
    },
  }
}
