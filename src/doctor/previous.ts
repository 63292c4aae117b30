import type { Clock } from '../domain/clock.ts'
import type { SqliteLocation } from '../domain/database-location.ts'
import { OperatorError } from '../domain/operator-error.ts'
import { TOKEN_LIFETIME } from '../domain/token.ts'
import { NoStore } from '../store/no-store.ts'
import { inspectStore } from '../store/open.ts'
import { error, type Finding, note, ok } from './finding.ts'

/** The store that was copied to the present one, and whether it is still needed. */
export async function examinePrevious(location: SqliteLocation, now: Clock): Promise<Finding[]> {
  const inspector = await inspectStore(location).catch((cause) => {
    // Its advice is for a store that may be made.
    throw cause instanceof NoStore
      ? new OperatorError(`PREVIOUS_DATABASE_URL: there is no database at ${location.file}.`)
      : cause
  })
  try {
    const move = await inspector.move()
    if (move === undefined || move.copiedAt === null) {
      return [
        error(`PREVIOUS_DATABASE_URL: ${location.file} was not copied, or not to the end.`, 'Take the setting away.'),
      ]
    }
    const newestAt = (await inspector.tokens())?.newestAt ?? 0
    const isNeeded = newestAt + TOKEN_LIFETIME > now()
    return [
      isNeeded
        ? ok(`PREVIOUS_DATABASE_URL: ${location.file} still has tokens that are valid.`)
        : note(
            `PREVIOUS_DATABASE_URL is no longer needed: every token in ${location.file} has expired.`,
            'Take it away.',
          ),
    ]
  } finally {
    inspector.close()
  }
}
