import { locationText, type PostgresLocation } from '../../domain/database-location.ts'
import { type Store, StoreUnavailable } from '../../domain/store.ts'
import { CLOCK_TOLERANCE } from '../../domain/time.ts'
import type { Opened, OpenOptions } from '../opened.ts'
import { createAuditTrail } from '../shared/audit.ts'
import { createChanges } from '../shared/changes.ts'
import { createFigures } from '../shared/figures.ts'
import { createOperators } from '../shared/operators.ts'
import { createRefusals } from '../shared/refusals.ts'
import { createRegistryLists } from '../shared/registry.ts'
import { type Commands, createCommands, numberOf } from './commands.ts'
import { migrate } from './migrate.ts'
import { createNodes } from './nodes.ts'
import { keepPrimary } from './primary.ts'
import { createPurge } from './purge.ts'
import { createReads } from './reads.ts'
import { databaseSize } from './statements/session.ts'
import { countLiveTokens } from './statements/tokens.ts'
import { createTokens, createUsage } from './tokens.ts'

/** How long opening waits for a primary. */
const OPEN_TIMEOUT_MS = 10_000

/** Opens a PostgreSQL database as a migrated store. Rejects with StoreUnavailable or OperatorError. */
export async function openPostgres(
  location: PostgresLocation,
  { lockTimeout, create = true, observe = () => {} }: OpenOptions,
): Promise<Opened> {
  const database = locationText(location)
  const primary = await keepPrimary(location, { timeout: OPEN_TIMEOUT_MS, monotonic: () => performance.now(), observe })
  const migrated = await primary
    .session()
    .then(({ commands }) => migrate(commands, { create, place: database }))
    .catch((error) => {
      primary.close()
      throw error
    })
  const commands = createCommands({ primary, lockTimeout })
  const reads = createReads({ primary, now: Date.now })

  return {
    findApplication: reads.application,
    findSuite: reads.suite,
    mostImportedSecrets: reads.mostImportedSecrets,
    ...createRegistryLists(commands),
    ...createChanges(commands),
    ...createOperators(commands),
    ...createAuditTrail(commands),
    ...createTokens({ primary, reads, observe }),
    ...createUsage(commands),
    ...createRefusals(commands),
    ...createFigures(commands),
    ...createOwnFigures(commands),
    nodes: createNodes(commands),
    purge: createPurge(commands),

    async ping() {
      await reads.nothing()
      // NaN, and so not too far apart, where that is not known yet.
      const apart = Math.round(Math.abs(Number(reads.clockOffset())))
      if (!(apart > CLOCK_TOLERANCE)) return
      throw new StoreUnavailable(`this machine's clock and that of ${database} are ${apart} ms apart: set them by NTP`)
    },

    clockOffset: reads.clockOffset,

    async backlog() {
      await reads.nothing()
      return undefined
    },

    async close() {
      primary.close()
    },

    database,
    migrated,
  }
}

/** What is measured of the store by PostgreSQL's own means, in the background. */
function createOwnFigures({ askInBackground }: Commands): Pick<Store, 'size' | 'countLiveTokens'> {
  return {
    size: async () => ({ database: await numberOf(askInBackground(databaseSize)), log: undefined }),

    async countLiveTokens(fromId, limit) {
      const values = [fromId.toString('hex'), limit + 1]
      const [row] = await askInBackground<[all: number, live: number]>(countLiveTokens, values)
      const [all, live] = row as [number, number]
      return all > limit ? undefined : live
    },
  }
}
