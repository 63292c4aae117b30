import { KEPT_MS } from '../domain/federation.ts'
import { factsOf, isTokenReason } from '../domain/reasons.ts'
import { CERTIFICATE_ENDS_MS, type EndingSecret, OLD_BACKUP_MS, OUTAGE_GAP_MS } from '../domain/statistics.ts'
import { many } from '../domain/text.ts'
import { timestamp } from '../domain/time.ts'
import { DAY } from '../domain/usage.ts'
import type { EndingSecrets, Statistics } from '../views/statistics.ts'
import { path } from '../web/html.ts'
import type { Context, ReadContext } from './context.ts'
import { COMMANDS } from './remedies.ts'

type MatterKind =
  | ('database unavailable' | 'clocks differ' | 'processes missing' | 'node gone' | 'outage' | 'no backup')
  | ('client refused' | 'client would be refused' | 'removed client refused' | 'certificate' | 'issuer away')
  | ('secret ends' | 'checks refused' | 'many tokens' | 'more clients refused' | 'more clients would be refused')
  | ('more secrets end' | 'more applications with many tokens')

/** What an operator should look at. Times in its texts are RFC 3339, and commands are in backticks. */
export interface Matter {
  readonly kind: MatterKind
  readonly tone: 'bad' | 'warn'
  /** The path of the page where it can be fixed. */
  readonly place: string
  readonly what: string
  readonly detail: string
  /** The kind and, if there are several, what tells it from others; the same on all nodes. */
  readonly key: string
  /** The key with what tells it from earlier ones. Undefined if it cannot be acknowledged. */
  readonly occurrence: string | undefined
  readonly subject?: { readonly kind: 'application' | 'suite' | 'server'; readonly id: string; readonly name: string }
  readonly since?: number
  /** Why, if that tells what an operator can do. */
  readonly reason?: string
  /** How often a client was refused. */
  readonly count?: number
  /** What to do. For an application or a suite, its page says more. */
  readonly remedy?: string | undefined
  /** If it stands for others that are not listed: their kind, and how many there are. */
  readonly others?: { readonly kind: MatterKind; readonly count: number }
}

/** Up to this share, such checks are normal for a server on the Internet. */
const MANY_REFUSED = 0.05

/** What needs attention, by kind. Of each kind, `shown` are listed, and the others are one matter. */
export function mattersOf(statistics: Statistics, shown: number): Matter[] {
  const kinds = [ofServer, ofCertificates, ofIssuers, ofClients, ofOutages, ofSecrets, ofChecks, ofHeavy, ofBackup]
  return kinds.flatMap((find) => [...find(statistics, shown)])
}

function matter(
  [kind, tone, place]: readonly [MatterKind, Matter['tone'], place: string],
  what: string,
  detail: string,
  { id, about, ...more }: Partial<Pick<Matter, 'subject' | 'since' | 'reason' | 'count' | 'remedy'>> & About = {},
): Matter {
  const key = `${kind} ${id ?? more.subject?.id ?? ''}`.trim()
  const version = about ?? (more.since !== undefined && timestamp(more.since))
  const occurrence = version === false ? undefined : `${key} ${version}`
  return { kind, tone, place, what, detail, key, occurrence, ...more }
}

/** What tells it from others at the same time, and from earlier ones unless that is when it began. */
type About = { id?: string; about?: string }

const server = (name: string) => ({ kind: 'server', id: name, name }) as const

function* ofServer({ store, workers: { expected, serving }, nodes, name }: Statistics): Generator<Matter> {
  const { isUp, canWrite, canCheck, problem } = store
  const remedy = '`token-server doctor` says more.'
  if (!isUp && canWrite) {
    const what = 'The clocks of this machine and of the database differ'
    yield matter(['clocks differ', 'bad', '/#database'], what, String(problem), { remedy, subject: server(name) })
  }
  if (!isUp && !canWrite) {
    const what = canCheck ? 'No tokens can be issued' : 'No tokens can be issued or checked'
    const others = `${canCheck ? 'Checks are answered. ' : ''}Nothing can be changed, and nobody can sign in.`
    // To notices, that is the outage which others see by their requests, too.
    yield {
      ...matter(['database unavailable', 'bad', '/#database'], what, `${others} ${problem}`, { remedy }),
      key: 'outage',
    }
  }
  if (serving < expected) {
    const what = `${(expected - serving).toLocaleString('en')} of ${many(expected, 'process', 'processes')} do not answer`
    const detail = 'One that has ended is replaced within seconds.'
    const more = { remedy: 'Look for `worker exited unexpectedly` in the log.', subject: server(name) }
    yield matter(['processes missing', 'bad', '/#processes'], what, detail, more)
  }
  for (const { name, lastSeenAt: since } of nodes.filter(({ isGone }) => isGone)) {
    const remedy = '`token-server doctor` on its machine says more.'
    const more = { since, remedy, subject: server(name) }
    const detail = `It last reported at ${timestamp(since)}.`
    yield matter(['node gone', 'bad', '/#nodes'], `Node ${name} is gone`, detail, more)
  }
}

/** Of all nodes and until it is renewed, the certificate of a listener is one matter: it ends, and may be refused then. */
function* ofCertificates({ at, certificates, name }: Statistics): Generator<Matter> {
  for (const { listener, endsAt, problem } of certificates) {
    if (problem === undefined && endsAt - at >= CERTIFICATE_ENDS_MS) continue
    const tone = problem !== undefined || endsAt <= at ? 'bad' : 'warn'
    const end = `${endsAt <= at ? 'expired' : 'expires'} at ${timestamp(endsAt)}.`
    const detail =
      problem === undefined ? `It ${end}` : `It ${end} What its files contain now cannot be used: ${problem}`
    const about = `${timestamp(endsAt)} ${problem}`
    const more = { id: listener, about, remedy: 'Renew it, or mend its files.', subject: server(name) }
    yield matter(['certificate', tone, '/about'], `TLS certificate of the ${listener} listener`, detail, more)
  }
}

function* ofIssuers({ at, issuers, name }: Statistics): Generator<Matter> {
  for (const { issuer, problem, fetchedAt } of issuers) {
    const end = Number(fetchedAt) + KEPT_MS
    const isKept = end > at
    const effect = isKept
      ? `Those that are known are used until ${timestamp(end)}.`
      : 'Until they are, none of its JWTs is accepted.'
    const detail = `Its keys could not be fetched: ${problem}. ${effect}`
    const more = {
      id: issuer,
      about: `since ${fetchedAt}`,
      subject: server(name),
      remedy: '`token-server doctor` says more.',
    }
    yield matter(['issuer away', isKept ? 'warn' : 'bad', '/secrets'], `Issuer ${issuer}`, detail, more)
  }
}

function* ofClients({ trouble }: Statistics, shown: number): Generator<Matter> {
  const { failing = [], reported = [], removed = [] } = trouble ?? {}
  for (const { kind, id, name, reason, count, since, recoveredAt = since, remedy } of failing.slice(0, shown)) {
    const detail = `${wordsOf(reason)}: refused ${many(count, 'time')}, first at ${timestamp(since)}.`
    const about = `${reason} ${timestamp(recoveredAt)}`
    const more = { id: `${kind} ${id}`, about, subject: { kind, id, name }, since, reason, count, remedy }
    yield matter(['client refused', 'bad', placeOf(kind, id, reason)], name, detail, more)
  }
  const others = ['more clients refused', 'bad', '/applications?status=failing'] as const
  yield* moreThan(shown, failing.length, others, 'client refused', 'They are refused now, too.')
  for (const { id, name, reason, count, since, remedy } of reported.slice(0, shown)) {
    const detail = `${wordsOf(reason)}: ${many(count, 'request')}, first at ${timestamp(since)}.`
    const about = `${reason} ${timestamp(since)}`
    const more = { about, subject: { kind: 'application', id, name }, since, reason, remedy } as const
    yield matter(['client would be refused', 'warn', path`/applications/${id}`], name, detail, more)
  }
  const further = ['more clients would be refused', 'warn', '/applications'] as const
  yield* moreThan(shown, reported.length, further, 'client would be refused', 'They would be refused, too.')
  for (const { clientId: id, name, by, at, count, since } of removed.slice(0, shown)) {
    const refused = `Its client id, or a similar one, was refused ${many(count, 'time')}, first at ${timestamp(since)}.`
    const detail = `Removed by ${by} at ${timestamp(at)}. ${refused}`
    const more = { subject: { kind: 'application', id, name }, since, count } as const
    yield matter(['removed client refused', 'warn', path`/applications/${id}`], name, detail, more)
  }
}

function* ofOutages({ at, outages }: Statistics): Generator<Matter> {
  for (const { beganAt: since, endedAt, failures } of outages.toReversed()) {
    const [begin, end] = [since, endedAt].map((time) => timestamp(time - (time % 1000)))
    const when = begin === end ? `At ${begin}` : `From ${begin} to ${end}`
    const detail = `${when}: ${many(failures, 'request')} answered with 503.`
    const tone = at - endedAt < OUTAGE_GAP_MS ? 'bad' : 'warn'
    const kind = ['outage', tone, '/refusals?reason=store+unavailable'] as const
    if (at - endedAt < DAY) yield matter(kind, 'Outage of the database', detail, { since })
  }
}

function* ofSecrets({ endingSecrets }: Statistics, shown: number): Generator<Matter> {
  if (!endingSecrets) return
  yield* endingSecrets.next.slice(0, shown).map(endingMatter)
  const others = ['more secrets end', 'warn', '/secrets?show=ending&sort=end'] as const
  yield* moreThan(shown, endingInUse(endingSecrets), others, 'secret ends', 'Their secrets end within 7 days.')
}

export function endingMatter({ what, kind, id, name, secretId, endsAt, newerId }: EndingSecret): Matter {
  const rotate = `${COMMANDS.rotate(id)} makes another one: hand it over before that.`
  const another = what === 'secret' ? rotate : `"federated add ${id}" adds another one.`
  const about = timestamp(endsAt)
  const more = {
    id: `${kind} ${id} ${secretId}`,
    about,
    subject: { kind, id, name },
    ...(newerId === null ? { reason: what, remedy: another } : { remedy: 'Tell its developer.' }),
  }
  const newer = newerId === null ? '' : ` It has a newer one (${newerId}): it should use that everywhere.`
  const place = `${placeOf(kind, id, 'expired secret')}#secrets`
  return matter(
    ['secret ends', 'warn', place],
    name,
    `The ${what} that it uses ends at ${timestamp(endsAt)}. After that, its requests are refused.${newer}`,
    more,
  )
}

/** How many applications and suites use a secret that ends within 7 days, whether they have a newer one or not. */
export function endingInUse({ next, inAWeek }: EndingSecrets): number {
  return Math.max(inAWeek, next.length)
}

function* ofChecks({ lastHour, refusals, trouble }: Statistics, shown: number): Generator<Matter> {
  const checks = Math.max(lastHour.activeChecks + lastHour.inactiveChecks, 1)
  for (const { suite: id, reason, count, since } of trouble?.refusedChecks.slice(0, shown) ?? []) {
    const counted = refusals.find((one) => one.kind === 'check' && one.reason === reason)
    const share = (counted?.count ?? 0) / checks
    const often = `${many(count, 'check')}, first at ${timestamp(since)}`
    const detail = `${wordsOf(reason)}: ${often}; ${Math.round(share * 100)} % of all checks in the last hour.`
    const more = { id: `${id} ${reason}`, subject: { kind: 'suite', id, name: id }, since } as const
    const kind = ['checks refused', 'warn', `${path`/suites/${id}`}#checks`] as const
    if (share > MANY_REFUSED) yield matter(kind, `Checks at ${id}`, detail, more)
  }
}

function* ofHeavy({ heavy }: Statistics, shown: number): Generator<Matter> {
  for (const { clientId: id, name, tokens } of heavy.slice(0, shown)) {
    const detail = `Many tokens, ${tokens.toLocaleString('en')} in the last 60 minutes: it should use each until it expires.`
    const more = { about: 'lately', subject: { kind: 'application', id, name }, reason: 'many tokens' } as const
    yield matter(['many tokens', 'warn', path`/applications/${id}`], name, detail, more)
  }
  const others = ['more applications with many tokens', 'warn', '/applications?status=heavy'] as const
  yield* moreThan(shown, heavy.length, others, 'many tokens', 'They get many tokens, too.')
}

function* ofBackup({ at, startedAt, store: { kind, databaseBytes, lastBackupAt = 0 } }: Statistics): Generator<Matter> {
  const isNew = lastBackupAt === 0 && at - startedAt < DAY
  if (kind !== 'sqlite' || databaseBytes === 0 || at - lastBackupAt < OLD_BACKUP_MS || isNew) return
  const last = lastBackupAt === 0 ? 'None was made yet.' : `The last one was made at ${timestamp(lastBackupAt)}.`
  const remedy = '`token-server backup FILE` makes one.'
  yield matter(['no backup', 'warn', '/#database'], 'No backup', last, { remedy, about: `since ${lastBackupAt}` })
}

function* moreThan(
  shown: number,
  all: number,
  about: Parameters<typeof matter>[0],
  kind: MatterKind,
  detail: string,
): Generator<Matter> {
  const count = all - shown
  if (count > 0) yield { ...matter(about, `${count.toLocaleString('en')} more`, detail), others: { kind, count } }
}

/** Where to fix refusals of an application or a suite: an application's page begins with what to do. */
export function placeOf(kind: 'application' | 'suite', id: string, reason: string): string {
  if (kind === 'application') return path`/applications/${id}`
  return path`/suites/${id}` + (isTokenReason(reason) ? '#gateway' : '')
}

function wordsOf(reason: string): string {
  const { words = reason } = factsOf(reason) ?? {}
  return words.charAt(0).toUpperCase() + words.slice(1)
}

/** What was acknowledged is shown again after this long, even if it has not changed. Milliseconds. */
const ACKNOWLEDGED_MS = 7 * DAY
const MAX_ACKNOWLEDGED = 1000

/** The occurrences that operators have acknowledged. Throws StoreUnavailable. */
export async function listAcknowledged({ store, now }: ReadContext): Promise<ReadonlySet<string | undefined>> {
  return new Set(await store.listAcknowledged(now() - ACKNOWLEDGED_MS, MAX_ACKNOWLEDGED))
}

/** Resolves to whether any of these was not acknowledged yet. Throws StoreUnavailable. */
export async function acknowledge(context: Context, matters: readonly Matter[]): Promise<boolean> {
  const { store, audit, report } = context
  const known = await listAcknowledged(context)
  const fresh = matters.filter(({ occurrence }) => !known.has(occurrence))
  const warnings = fresh.map(({ occurrence, what: name, detail }) => ({ id: String(occurrence), name, detail }))
  if (warnings.length > 0) await store.acknowledge(warnings, audit())
  for (const { id: warning } of warnings) report({ type: 'warning acknowledged', warning })
  return warnings.length > 0
}
