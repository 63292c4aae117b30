import type { Config } from '../config.ts'
import type { SqliteLocation } from '../domain/database-location.ts'
import { READY_PATH } from '../http/health.ts'
import { lookAtStore } from '../store/open.ts'
import { addressOf, ask } from './ask.ts'
import { error, type Finding } from './finding.ts'

/** Whether a server of these settings runs though its database is missing: a start would make an empty one. */
export async function examineLostDatabase(
  { file }: SqliteLocation,
  { HOST, PORT }: Pick<Config, 'HOST' | 'PORT'>,
): Promise<Finding[]> {
  const { database } = await lookAtStore({ kind: 'sqlite', file })
  if (database?.size || PORT === 0) return []
  const address = addressOf(HOST, PORT)
  const answer = await ask(`${address}${READY_PATH}`)
  // One that hangs may have the database open, too.
  if (answer.status === undefined && answer.code !== undefined) return []
  return [
    error(
      `A server runs at ${address}, and there is no database at ${file}: it is gone, or the settings are not the server's.`,
      'Do not start, restart or migrate: that makes an empty one. Put it back, or restore a backup: docs/operations.md, "Restore".',
    ),
  ]
}
