import { locationText, type PostgresLocation } from '../../domain/database-location.ts'
import { StoreUnavailable } from '../../domain/store.ts'
import { CLOCK_TOLERANCE } from '../../domain/time.ts'
import type { Opened, OpenOptions } from '../opened.ts'
import { createAuditedChange, createAuditTrail } from './audit.ts'
import { createCommands } from './commands.ts'
import { createFigures } from './figures.ts'
import { migrate } from './migrate.ts'
import { createNodes } from './nodes.ts'
import { createOperators } from './operators.ts'
import { keepPrimary } from './primary.ts'
import { createReads } from './reads.ts'
import { createRefusals } from './refusals.ts'
import { createRegistry } from './registry.ts'
import { createTokens } from './tokens.ts'
import { createUsage } from './usage.ts'

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
  const audited = createAuditedChange(commands)
  const reads = createReads({ primary, now: Date.now })

  return {
    ...createRegistry({ reads, commands, audited }),
    ...createOperators({ commands, audited }),
    ...createAuditTrail(commands),
    ...createTokens({ primary, reads, commands, observe }),
    ...createUsage(commands),
    ...createRefusals(commands),
    ...createFigures(commands),
    nodes: createNodes(commands),

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
