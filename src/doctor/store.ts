import type { Config } from '../config.ts'
import type { AuditHead } from '../domain/audit-chain.ts'
import { type DatabaseLocation, locationText, type SqliteLocation } from '../domain/database-location.ts'
import { OLD_BACKUP_MS } from '../domain/statistics.ts'
import type { Clock } from '../domain/time.ts'
import { TOKEN_LIFETIME } from '../domain/token.ts'
import type { Inspector, Schema, SecretOwner } from '../store/inspect.ts'
import { isAtLeast } from '../store/migrations.ts'
import { describeStoreFiles, inspectStore } from '../store/open.ts'
import { explainMissingPrevious, StoreMissing } from '../store/opened.ts'
import { checkIssuers, checkOperators, checkRefusedSignIn, checkUndelivered } from './access.ts'
import { type Check, error, type Finding, note, ok, runAll, SOON_MS, timeText, warning } from './finding.ts'
import { checkStoreClock } from './machine.ts'
import { checkWriteLock } from './write-lock.ts'

const OLDEST_TESTED_POSTGRES = '15'

/** Longer than the hour for which the purge pauses after a jump of the clock. */
const PURGE_BEHIND_MS = 2 * 60 * 60_000

/** Checks the store: its software and schema and, if this program can use it, its contents. */
export async function checkStore(
  location: DatabaseLocation,
  now: Clock,
  { ADMIN_ADDRESS, OPERATORS, NOTICE_URL_FILE }: Partial<Config> = {},
) {
  let inspector: Inspector | undefined
  let schema: Schema | undefined
  const opening = await runAll([
    [
      'store',
      async () => {
        // If the disk hangs, the driver would block this process. This call does not, so the check ends at its deadline.
        if (location.kind === 'sqlite') await describeStoreFiles(location)
        inspector = await inspectStore(location)
        schema = await inspector.schema()
        return [
          softwareFinding(await inspector.software(), location.kind),
          schemaFinding(schema, locationText(location)),
        ]
      },
    ],
  ])
  const contents = inspector && schema ? await runAll(checksOf(inspector, schema)) : []
  inspector?.close()
  return [...opening, ...contents]

  function checksOf(inspector: Inspector, { version, latest, refusal }: Schema): Check[] {
    if (version === 0 || refusal !== undefined) return []
    const checks: Check[] = [
      ['store', () => inspector.assertNotStuck().then(() => checkMove(inspector))],
      ['clock', () => checkStoreClock(inspector, now)],
      ['durability', () => checkDurability(inspector)],
      ['secrets', () => checkSecrets(inspector, now())],
      ['purge', () => checkPurge(inspector, now())],
    ]
    if (location.kind === 'sqlite') {
      checks.push(['backup', () => checkBackup(inspector, now())], ['lock', () => checkWriteLock(location)])
    }
    if (version >= latest && ADMIN_ADDRESS) {
      checks.push([
        'operators',
        async () => [
          ...checkOperators(await inspector.operators(), now(), OPERATORS === 'provider'),
          ...checkRefusedSignIn(await inspector.lastRefusedSignIn(), now()),
        ],
      ])
    }
    if (version >= latest) checks.push(['issuers', async () => checkIssuers(await inspector.issuers(now()), now())])
    if (version >= latest) checks.push(['audit', async () => checkAuditHead(await inspector.auditHead())])
    if (version >= latest && NOTICE_URL_FILE) {
      checks.push(['notices', async () => checkUndelivered(await inspector.undelivered())])
    }
    return checks
  }
}

export function softwareFinding(software: string, kind: DatabaseLocation['kind']): Finding {
  const version = software.split(' ')[1] as string
  const text = `The store runs on ${software}.`
  if (kind === 'sqlite' || isAtLeast(version, OLDEST_TESTED_POSTGRES)) return ok(text)
  return warning(text, `Versions before ${OLDEST_TESTED_POSTGRES} have not been tested.`)
}

function schemaFinding({ version, latest, refusal }: Schema, location: string): Finding {
  if (refusal !== undefined) return error(refusal, 'Check DATABASE_URL and the version of this program.')
  if (version === 0) return error(new StoreMissing(`The database ${location} is empty`).message)
  if (version === latest) return ok(`The schema has the version of this program, ${version}.`)
  if (version < latest) {
    return note(`The schema has version ${version}, but this program uses ${latest}.`, 'The next start migrates it.')
  }
  return note(`The schema has the version of a newer program (${version}, not ${latest}), but this program can use it.`)
}

async function checkMove(inspector: Inspector): Promise<Finding[]> {
  const move = await inspector.move()
  if (move === undefined) return []
  const { place, beganAt, copiedAt } = move
  const reopen = 'To allow changes here again, run "token-server store reopen".'
  if (copiedAt === null) {
    const text = `A copy of the store to ${place} began at ${timeText(beganAt)}. It is still running, or was interrupted.`
    return [warning(text, `Wait, or copy it again. ${reopen}`)]
  }
  return [warning(`The store moved to ${place} at ${timeText(copiedAt)}.`, `Use that in DATABASE_URL. ${reopen}`)]
}

async function checkDurability(inspector: Inspector): Promise<Finding[]> {
  const advice = 'docs/operations/postgresql.md, "Settings of PostgreSQL".'
  return (await inspector.riskySettings()).map((setting) => {
    const text =
      'DATABASE_URL names several servers, but none is a synchronous standby: a failover loses the last commits.'
    if (setting === 'synchronous_standby_names=') return warning(text, advice)
    return error(`PostgreSQL has ${setting}: a power cut can destroy the database.`, advice)
  })
}

async function checkPurge(inspector: Inspector, now: number): Promise<Finding[]> {
  const tokens = await inspector.tokens()
  const behind = tokens ? now - tokens.oldestAt - TOKEN_LIFETIME : 0
  if (behind < PURGE_BEHIND_MS) return [ok('Expired tokens are deleted in time.')]
  const text = `The oldest token expired at ${timeText(now - behind)} and is not deleted yet.`
  return [warning(text, 'A running server deletes it; if it cannot, "purge failed" in its log says why.')]
}

async function checkBackup(inspector: Inspector, now: number): Promise<Finding[]> {
  const madeAt = await inspector.lastBackupAt()
  const advice = 'Make one each day: docs/operations/backup-and-upgrade.md, "Backup".'
  if (madeAt === undefined) return [warning('`token-server backup` has made no backup yet.', advice)]
  const text = `The last backup was made at ${timeText(madeAt)}.`
  return [now - madeAt > OLD_BACKUP_MS ? warning(text, advice) : ok(text)]
}

function checkAuditHead(head: AuditHead | undefined): Finding[] {
  if (!head) return [ok('The audit trail has no events.')]
  return [ok(`The audit trail ends with event ${head.id} of ${timeText(head.at)}, whose hash is ${head.hash}.`)]
}

/** Checks whether PREVIOUS_DATABASE_URL names a copied store, and whether it is still needed. */
export async function checkPrevious(location: SqliteLocation, now: Clock): Promise<Finding[]> {
  const inspector = await inspectStore(location).catch((cause) => explainMissingPrevious(cause, location))
  try {
    const move = await inspector.move()
    if (!move?.copiedAt) {
      const text = `PREVIOUS_DATABASE_URL: ${location.file} was not copied, or only partly.`
      return [error(text, 'Remove the setting.')]
    }
    const newestAt = (await inspector.tokens())?.newestAt ?? 0
    if (newestAt + TOKEN_LIFETIME > now()) {
      return [ok(`PREVIOUS_DATABASE_URL: ${location.file} still has valid tokens.`)]
    }
    const text = `PREVIOUS_DATABASE_URL is no longer needed: every token in ${location.file} has expired.`
    return [note(text, 'Remove it.')]
  } finally {
    inspector.close()
  }
}

const MAX_NAMED = 10

async function checkSecrets(inspector: Inspector, now: number): Promise<Finding[]> {
  const owners = await inspector.ownersWithoutSecret(now + SOON_MS)
  if (owners.length === 0) return [ok('Every application and suite has a secret that is valid for at least a week.')]
  // Those whose secret has not expired yet come first.
  const [active = [], ended = []] = [true, false].map((wanted) => owners.filter((one) => isActive(one, now) === wanted))
  active.sort((one, other) => Number(one.endsAt) - Number(other.endsAt))
  const more = owners.length - MAX_NAMED
  return [
    ...[...active, ...ended].slice(0, MAX_NAMED).map((owner) => secretFinding(owner, now)),
    ...(more > 0 ? [warning(`The last secret of ${more} more has expired or expires within a week.`)] : []),
  ]
}

function isActive({ endsAt }: SecretOwner, now: number): boolean {
  return endsAt !== null && endsAt > now
}

function secretFinding(owner: SecretOwner, now: number): Finding {
  const { kind, id, name, endsAt } = owner
  const subject = `The ${kind} ${name} (${id})`
  const rotate = `"secrets rotate ${id}"`
  const consequence = kind === 'suite' ? 'cannot introspect' : 'gets no tokens'
  if (endsAt === null) return warning(`${subject} has no secret, and ${consequence}.`, `${rotate} makes one.`)
  if (isActive(owner, now)) {
    const text = `The last secret of the ${kind} ${name} (${id}) expires at ${timeText(endsAt)}.`
    return warning(text, `${rotate} makes another one: hand it over before that.`)
  }
  const advice = kind === 'suite' ? `${rotate} makes one.` : `${rotate} makes one; or suspend or remove it.`
  return warning(`${subject} has had no secret since ${timeText(endsAt)}, and ${consequence}.`, advice)
}
