import type { Config } from '../config.ts'
import { type DatabaseLocation, locationText, type SqliteLocation } from '../domain/database-location.ts'
import { OperatorError } from '../domain/operator-error.ts'
import type { Clock } from '../domain/time.ts'
import { TOKEN_LIFETIME } from '../domain/token.ts'
import type { Inspector, Schema, SecretOwner } from '../store/inspect.ts'
import { isAtLeast } from '../store/migrations.ts'
import { inspectStore, lookAtStore } from '../store/open.ts'
import { NoStore } from '../store/opened.ts'
import { examineOperators } from './access.ts'
import {
  type Check,
  type Diagnosis,
  error,
  examine,
  type Finding,
  note,
  ok,
  SOON_MS,
  timeText,
  warning,
} from './finding.ts'
import { examineStoreClock } from './machine.ts'

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
    [
      'store',
      async () => {
        // The driver blocks, and a disk that hangs would stop everything: this one can be waited for.
        if (location.kind === 'sqlite') await lookAtStore(location)
        inspector = await inspectStore(location)
        schema = await inspector.schema()
        return [judgeSoftware(await inspector.software(), location.kind), judgeSchema(schema, locationText(location))]
      },
    ],
  ])
  const isUsable = schema !== undefined && schema.version > 0 && schema.refusal === undefined
  const checks = inspector && isUsable ? checksOf(inspector, location, now) : []
  if (inspector && schema && isUsable && schema.version >= schema.latest && ADMIN_ADDRESS) {
    const { operators } = inspector
    checks.push(['operators', async () => examineOperators(await operators(), now())])
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
    ['store', () => examineMove(inspector)],
    ['clock', () => examineStoreClock(inspector, now)],
    ['secrets', () => examineSecrets(inspector, now())],
    ['purge', () => examinePurge(inspector, now())],
    ...(kind === 'sqlite' ? [['backup', () => examineBackup(inspector, now())] satisfies Check] : []),
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
  const advice = 'Make one each day: docs/operations/backup-and-upgrade.md, "Backup".'
  if (madeAt === undefined) return [warning('No backup was made by `token-server backup` yet.', advice)]
  const text = `The last backup was made at ${timeText(madeAt)}.`
  return [now - madeAt > BACKUP_OLD_MS ? warning(text, advice) : ok(text)]
}

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

/** So many are named. */
const NAMED = 10

/** Who is without a secret, or will be in a week. */
async function examineSecrets(inspector: Inspector, now: number): Promise<Finding[]> {
  const owners = await inspector.ownersWithoutSecret(now + SOON_MS)
  if (owners.length === 0)
    return [ok('Every application and every suite has a secret that is active for a week and more.')]
  // Those that can still be helped in time come first.
  const urgentFirst = owners.toSorted((one, other) => Number(isActive(other, now)) - Number(isActive(one, now)))
  const more = owners.length - NAMED
  return [
    ...urgentFirst.slice(0, NAMED).map((owner) => judge(owner, now)),
    ...(more > 0 ? [warning(`There are ${more} more whose secrets have ended or end within a week.`)] : []),
  ]
}

function isActive({ endsAt }: SecretOwner, now: number): boolean {
  return endsAt !== null && endsAt > now
}

function judge(owner: SecretOwner, now: number): Finding {
  const { kind, id, name, endsAt } = owner
  const who = `The ${kind} ${name} (${id})`
  const rotate = `secrets rotate ${id}`
  if (isActive(owner, now)) {
    return warning(
      `${who} has no secret after ${timeText(endsAt as number)}.`,
      `"${rotate}" makes one; then it has to be told.`,
    )
  }
  const consequence = kind === 'suite' ? 'cannot introspect' : 'gets no tokens'
  // 0: of a secret that a seed of an earlier version stored, and did not show.
  if (!endsAt) {
    return warning(`${who} has no secret that was ever valid, and ${consequence}.`, `"${rotate}", or seed again.`)
  }
  const advice = kind === 'suite' ? `"${rotate}" makes one.` : `"${rotate}" makes one; or suspend or remove it.`
  return warning(`${who} has no secret since ${timeText(endsAt)}, and ${consequence}.`, advice)
}
