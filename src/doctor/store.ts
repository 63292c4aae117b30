import type { Config } from '../config.ts'
import type { Clock } from '../domain/clock.ts'
import { type DatabaseLocation, locationText } from '../domain/database-location.ts'
import { TOKEN_LIFETIME } from '../domain/token.ts'
import type { Inspector, Schema } from '../store/inspect.ts'
import { NoStore } from '../store/no-store.ts'
import { inspectStore, lookAtStore } from '../store/open.ts'
import { isAtLeast } from '../store/versions.ts'
import { examineOperators } from './admin.ts'
import { examineStoreClock } from './clock.ts'
import { type Check, type Diagnosis, examine } from './examine.ts'
import { error, type Finding, note, ok, warning } from './finding.ts'
import { examineSecrets } from './secrets.ts'
import { timeText } from './words.ts'

/** The oldest PostgreSQL that it was tried with. */
const OLDEST_POSTGRES = '15'

/** The purge pauses for an hour when a clock has jumped. */
const PURGE_BEHIND_MS = 2 * 60 * 60_000

const BACKUP_OLD_MS = 48 * 60 * 60_000

/** What is in the store. Where it cannot be opened, or is none of this program's, that is all. */
export async function examineStore(
  location: DatabaseLocation,
  now: Clock,
  { ADMIN_ADDRESS }: Partial<Pick<Config, 'ADMIN_ADDRESS'>> = {},
): Promise<Diagnosis[]> {
  let inspector: Inspector | undefined
  let schema: Schema | undefined
  const opening = await examine([
    {
      subject: 'store',
      async examine() {
        // The driver blocks, and a disk that hangs would stop everything: this one can be waited for.
        if (location.kind === 'sqlite') await lookAtStore(location)
        inspector = await inspectStore(location)
        schema = await inspector.schema()
        return [judgeSoftware(await inspector.software(), location.kind), judgeSchema(schema, locationText(location))]
      },
    },
  ])
  const isUsable = schema !== undefined && schema.version > 0 && schema.refusal === undefined
  const checks = inspector && isUsable ? checksOf(inspector, location, now) : []
  if (inspector && schema && isUsable && schema.version >= schema.latest && ADMIN_ADDRESS) {
    const { operators } = inspector
    checks.push({ subject: 'operators', examine: async () => examineOperators(await operators(), now()) })
  }
  const contents = await examine(checks)
  inspector?.close()
  return [...opening, ...contents]
}

export function judgeSoftware(software: string, kind: DatabaseLocation['kind']): Finding {
  const version = software.split(' ')[1] as string
  if (kind === 'sqlite' || isAtLeast(version, OLDEST_POSTGRES)) return ok(`The store is kept by ${software}.`)
  return warning(`The store is kept by ${software}.`, `It was not tried with versions before ${OLDEST_POSTGRES}.`)
}

function judgeSchema({ version, latest, refusal }: Schema, place: string): Finding {
  if (refusal !== undefined) return error(refusal, 'Look at DATABASE_URL, and at the version of this program.')
  if (version === 0) return error(new NoStore(`The database ${place} is empty`).message)
  if (version < latest) {
    return note(`The schema is at version ${version}, and this program's is ${latest}.`, 'The next start migrates it.')
  }
  if (version > latest)
    return note(`The schema is of a newer program (${version}, not ${latest}), and this one may run on it.`)
  return ok(`The schema is at version ${version}, as this program's is.`)
}

function checksOf(inspector: Inspector, { kind }: DatabaseLocation, now: Clock): Check[] {
  return [
    { subject: 'store', examine: () => examineMove(inspector) },
    { subject: 'clock', examine: () => examineStoreClock(inspector, now) },
    { subject: 'secrets', examine: () => examineSecrets(inspector, now()) },
    { subject: 'purge', examine: () => examinePurge(inspector, now()) },
    ...(kind === 'sqlite' ? [{ subject: 'backup', examine: () => examineBackup(inspector, now()) }] : []),
  ]
}

async function examineMove(inspector: Inspector): Promise<Finding[]> {
  const move = await inspector.move()
  if (move === undefined) return []
  const { place, beganAt, copiedAt } = move
  const reopen = '"token-server store reopen" makes it possible again to change it here.'
  if (copiedAt === null) {
    const text = `The store is being copied to ${place} since ${timeText(beganAt)}, or that did not end.`
    return [warning(text, `Wait, or copy it again. ${reopen}`)]
  }
  return [warning(`The store has moved to ${place} at ${timeText(copiedAt)}.`, `Name that in DATABASE_URL. ${reopen}`)]
}

async function examinePurge(inspector: Inspector, now: number): Promise<Finding[]> {
  const tokens = await inspector.tokens()
  const behind = tokens ? now - tokens.oldestAt - TOKEN_LIFETIME : 0
  if (behind < PURGE_BEHIND_MS) return [ok('Expired tokens are deleted in time.')]
  const text = `The oldest token expired at ${timeText(now - behind)} and is not deleted yet.`
  return [warning(text, 'A running server does that; "purge failed" in its log says why it cannot.')]
}

async function examineBackup(inspector: Inspector, now: number): Promise<Finding[]> {
  const madeAt = await inspector.lastBackupAt()
  const advice = 'Make one each day: docs/operations.md, "Backup".'
  if (madeAt === undefined) return [warning('No backup was made by `token-server backup` yet.', advice)]
  const text = `The last backup was made at ${timeText(madeAt)}.`
  return [now - madeAt > BACKUP_OLD_MS ? warning(text, advice) : ok(text)]
}
