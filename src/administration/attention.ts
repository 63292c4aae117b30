import { factsOf, isTokenReason } from '../domain/reasons.ts'
import { type EndingSecret, OLD_BACKUP_MS, OUTAGE_GAP_MS } from '../domain/statistics.ts'
import { many } from '../domain/text.ts'
import { timestamp } from '../domain/time.ts'
import { DAY } from '../domain/usage.ts'
import type { EndingSecrets, Statistics } from '../views/statistics.ts'
import { path } from '../web/html.ts'
import { COMMANDS } from './remedies.ts'

type MatterKind =
  | ('database unavailable' | 'clocks differ' | 'processes missing' | 'node gone' | 'outage' | 'no backup')
  | ('client refused' | 'removed client refused' | 'secret ends' | 'checks refused' | 'many tokens')
  | ('more clients refused' | 'more secrets end' | 'more applications with many tokens')

/** What an operator should look at. Times in its texts are RFC 3339, and commands are in backticks. */
export interface Matter {
  readonly kind: MatterKind
  readonly tone: 'bad' | 'warn'
  /** Tells it from others of its kind; the same on all nodes. */
  readonly id: string
  /** The path of the page where it can be fixed. */
  readonly place: string
  readonly what: string
  readonly detail: string
  /** What to do. For an application or a suite, its page says more. */
  readonly remedy?: string | undefined
  readonly since?: number | undefined
  readonly subject?: { readonly kind: 'application' | 'suite' | 'server'; readonly id: string; readonly name: string }
}

/** Up to this share, such checks are normal for a server on the Internet. */
const MANY_REFUSED = 0.05

/** What needs attention, by kind. Of each kind, `shown` are listed, and the others are one matter. */
export function mattersOf(statistics: Statistics, shown: number): Matter[] {
  const kinds = [ofServer, ofClients, ofOutages, ofSecrets, ofChecks, ofHeavy, ofBackup]
  return kinds.flatMap((find) => [...find(statistics, shown)])
}

function* ofServer({ store, workers: { expected, serving }, nodes, name }: Statistics): Generator<Matter> {
  if (!store.isUp) {
    const { canWrite, canCheck, problem } = store
    const broken = canCheck ? 'No tokens can be issued' : 'No tokens can be issued or checked'
    const others = canWrite
      ? ''
      : `${canCheck ? 'Checks are answered. ' : ''}Nothing can be changed, and nobody can sign in. `
    const what = canWrite ? 'The clocks of this machine and of the database differ' : broken
    const kind = canWrite ? 'clocks differ' : 'database unavailable'
    const remedy = '`token-server doctor` says more.'
    yield { kind, id: '', tone: 'bad', place: '/#database', what, detail: `${others}${problem}`, remedy }
  }
  if (serving < expected) {
    const what = `${(expected - serving).toLocaleString('en')} of ${many(expected, 'process', 'processes')} do not answer`
    const detail = 'One that has ended is replaced within seconds.'
    const remedy = 'Look for `worker exited unexpectedly` in the log.'
    const subject = { kind: 'server', id: name, name } as const
    yield { kind: 'processes missing', id: name, tone: 'bad', place: '/#processes', what, detail, remedy, subject }
  }
  for (const { name, lastSeenAt: since } of nodes.filter(({ isGone }) => isGone)) {
    const detail = `It has not reported since ${timestamp(since)}.`
    const subject = { kind: 'server', id: name, name } as const
    const what = `Node ${name} is gone`
    const remedy = '`token-server doctor` on its machine says more.'
    yield { kind: 'node gone', id: name, tone: 'bad', place: '/#nodes', what, detail, remedy, since, subject }
  }
}

function* ofClients({ trouble }: Statistics, shown: number): Generator<Matter> {
  const { failing = [], removed = [] } = trouble ?? {}
  for (const { kind, id, name, reason, count, since, remedy } of failing.slice(0, shown)) {
    const detail = `${wordsOf(reason)}: refused ${many(count, 'time')} since ${timestamp(since)}.`
    const subject = { kind, id, name }
    const common = { kind: 'client refused', id: `${kind} ${id}`, tone: 'bad' } as const
    yield { ...common, place: placeOf(kind, id, reason), what: name, detail, remedy, since, subject }
  }
  const more = failing.length - shown
  const others = { id: '', place: '/applications?status=failing', detail: 'They are refused now, too.' }
  if (more > 0) yield { ...others, kind: 'more clients refused', tone: 'bad', what: moreText(more) }
  for (const { clientId: id, name, by, at, count, since } of removed.slice(0, shown)) {
    const refused = `Its client id, or a similar one, was refused ${many(count, 'time')} since ${timestamp(since)}.`
    const detail = `Removed by ${by} at ${timestamp(at)}. ${refused}`
    const subject = { kind: 'application', id, name } as const
    const place = path`/applications/${id}`
    yield { kind: 'removed client refused', id, tone: 'warn', place, what: name, detail, since, subject }
  }
}

function* ofOutages({ at, outages }: Statistics): Generator<Matter> {
  for (const { beganAt: since, endedAt, failures } of outages.toReversed()) {
    const [begin, end] = [wholeSecond(since), wholeSecond(endedAt)]
    const when = begin === end ? `At ${begin}` : `From ${begin} to ${end}`
    const detail = `${when}: ${many(failures, 'request')} answered with 503.`
    const tone = at - endedAt < OUTAGE_GAP_MS ? 'bad' : 'warn'
    const common = { kind: 'outage', id: '', place: '/refusals?reason=store+unavailable' } as const
    if (at - endedAt < DAY) yield { ...common, tone, what: 'Outage of the database', detail, since }
  }
}

function wholeSecond(time: number): string {
  return timestamp(time - (time % 1000))
}

function* ofSecrets({ endingSecrets }: Statistics, shown: number): Generator<Matter> {
  if (!endingSecrets) return
  yield* endingSecrets.next.slice(0, shown).map(endingMatter)
  const more = endingInUse(endingSecrets) - shown
  const others = { id: '', place: '/secrets?show=ending&sort=end', detail: 'Their secrets end within 7 days.' }
  if (more > 0) yield { ...others, kind: 'more secrets end', tone: 'warn', what: moreText(more) }
}

export function endingMatter({ kind, id, name, secretId, endsAt }: EndingSecret): Matter {
  const after = 'After that, its requests are refused, unless it uses a newer one.'
  return {
    ...{ kind: 'secret ends', id: `${kind} ${id} ${secretId}`, tone: 'warn', subject: { kind, id, name } },
    place: `${placeOf(kind, id, 'expired secret')}#secrets`,
    what: name,
    detail: `The secret that it uses ends at ${timestamp(endsAt)}. ${after}`,
    remedy: `${COMMANDS.rotate(id)} makes another one: hand it over before that.`,
  }
}

/** How many applications and suites use a secret that ends within 7 days, whether they have a newer one or not. */
export function endingInUse({ next, inAWeek }: EndingSecrets): number {
  return Math.max(inAWeek, next.length)
}

function* ofChecks({ lastHour, refusals, trouble }: Statistics, shown: number): Generator<Matter> {
  const checks = Math.max(lastHour.activeChecks + lastHour.inactiveChecks, 1)
  for (const { suite, reason, count, since } of trouble?.refusedChecks.slice(0, shown) ?? []) {
    const counted = refusals.find((one) => one.kind === 'check' && one.reason === reason)
    const share = (counted?.count ?? 0) / checks
    if (share <= MANY_REFUSED) continue
    const often = `${many(count, 'check')} since ${timestamp(since)}`
    const detail = `${wordsOf(reason)}: ${often}; ${Math.round(share * 100)} % of all checks in the last hour.`
    const subject = { kind: 'suite', id: suite, name: suite } as const
    const common = { kind: 'checks refused', id: `${suite} ${reason}`, tone: 'warn' } as const
    const place = `${path`/suites/${suite}`}#checks`
    yield { ...common, place, what: `Checks at ${suite}`, detail, since, subject }
  }
}

function* ofHeavy({ heavy }: Statistics, shown: number): Generator<Matter> {
  const [kind, more] = ['many tokens', heavy.length - shown] as const
  for (const { clientId: id, name, tokens } of heavy.slice(0, shown)) {
    const advice = 'it should use each until it expires.'
    const detail = `Many tokens, ${tokens.toLocaleString('en')} in the last 60 minutes: ${advice}`
    const subject = { kind: 'application', id, name } as const
    yield { kind, id, tone: 'warn', place: path`/applications/${id}`, what: name, detail, subject }
  }
  const others = { id: '', place: '/applications?status=heavy', detail: 'They get many tokens, too.' }
  if (more > 0) yield { ...others, kind: 'more applications with many tokens', tone: 'warn', what: moreText(more) }
}

function* ofBackup({ at, startedAt, store: { kind, databaseBytes, lastBackupAt = 0 } }: Statistics): Generator<Matter> {
  const isNew = lastBackupAt === 0 && at - startedAt < DAY
  if (kind !== 'sqlite' || databaseBytes === 0 || at - lastBackupAt < OLD_BACKUP_MS || isNew) return
  const detail = lastBackupAt === 0 ? 'None was made yet.' : `The last one was made at ${timestamp(lastBackupAt)}.`
  const remedy = '`token-server backup FILE` makes one.'
  yield { kind: 'no backup', id: '', tone: 'warn', place: '/#database', what: 'No backup', detail, remedy }
}

/** Where to fix refusals of an application or a suite: an application's page begins with what to do. */
export function placeOf(kind: 'application' | 'suite', id: string, reason: string): string {
  if (kind === 'application') return path`/applications/${id}`
  return path`/suites/${id}` + (isTokenReason(reason) ? '#gateway' : '')
}

function moreText(count: number): string {
  return `${count.toLocaleString('en')} more`
}

function wordsOf(reason: string): string {
  const { words = reason } = factsOf(reason) ?? {}
  return words.charAt(0).toUpperCase() + words.slice(1)
}
