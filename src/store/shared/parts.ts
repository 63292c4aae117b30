import { createAuditTrail } from './audit.ts'
import { createChanges } from './changes.ts'
import { createFigures } from './figures.ts'
import { createOperators } from './operators.ts'
import { createRefusals } from './refusals.ts'
import { createRegistryLists } from './registry.ts'
import { createUsage } from './usage.ts'
import type { Database } from './work.ts'

/** The parts that are the same for every store. */
export const createSharedParts = (database: Database) => ({
  ...createRegistryLists(database),
  ...createChanges(database),
  ...createOperators(database),
  ...createAuditTrail(database),
  ...createUsage(database),
  ...createRefusals(database),
  ...createFigures(database),
})
