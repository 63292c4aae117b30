import { globSync } from 'node:fs'
import { join } from 'node:path'

/** The version of a migrated database. */
export const LATEST = globSync(join(import.meta.dirname, '../../migrations/sqlite/*.sql')).length
