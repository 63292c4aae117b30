import { factsOf } from '../../domain/reasons.ts'
import { CERTIFICATE_ENDS_MS, OLD_BACKUP_MS, OUTAGE_GAP_MS } from '../../domain/statistics.ts'
import { DAY } from '../../domain/usage.ts'
import type { EndingSecrets, Statistics } from '../../views/statistics.ts'
import { type Html, html, type Part, path } from '../../web/html.ts'
import { badge, name, section, type Tone, time } from './components.ts'
import { placeOf } from './diagnosis.ts'
import { count, many, percent } from './figures.ts'

/** What an operator should look at: a link to where it can be fixed, and the details. */
type Matter = readonly [tone: Tone, href: string, what: Part, detail: Part]

/** How many items of one kind are shown. */
const SHOWN = 5

/** Up to this share, such checks are normal for a server on the Internet. */
const MANY_REFUSED = 0.05

/** What needs attention, most serious first and each client once, or a line that says nothing does. */
export function attention(statistics: Statistics): Html {
  const kinds = [ofServer, ofCertificates, ofClients, ofOutages, ofSecrets, ofChecks, ofHeavy, ofBackup]
  const { bad = [], others = [] } = Object.groupBy(
    kinds.flatMap((find) => [...find(statistics)]),
    ([tone]) => (tone === 'bad' ? 'bad' : 'others'),
  )
  const keyOf = ([, href, what]: Matter) => `${href.split('#')[0]} ${what}`
  const items = [...Map.groupBy([...bad, ...others], keyOf).values()].map((same) => {
    const [tone, href, what] = same[0] as Matter
    const details = same.map(([, , , detail]) => html`${detail} `)
    return html`<li class="${tone}"><strong><a href="${href}">${what}</a></strong> <span>${details}</span></li>`
  })
  if (items.length > 0) return section('attention', 'Needs attention', html`<ul class="matters">${items}</ul>`)
  return html`<p>${statistics.trouble ? badge('Nothing needs attention', 'good') : badge('It is not known yet whether clients have problems')}</p>`
}

function* ofServer({ store, workers: { expected, serving }, nodes }: Statistics): Generator<Matter> {
  if (!store.isUp) {
    const { canWrite, canCheck } = store
    const broken = canCheck ? 'No tokens can be issued' : 'No tokens can be issued or checked'
    const others =
      !canWrite && `${canCheck ? 'Checks are answered. ' : ''}Nothing can be changed, and nobody can sign in.`
    const what = canWrite ? 'The clocks of this machine and of the database differ' : broken
    yield ['bad', '#database', what, html`${others} ${store.problem} <code>token-server doctor</code> says more.`]
  }
  if (serving < expected) {
    const what = `${count(expected - serving)} of ${many(expected, 'process', 'processes')} do not answer`
    const advice = html`One that has ended is replaced within seconds: look for <code>worker exited unexpectedly</code> in the log.`
    yield ['bad', '#processes', what, advice]
  }
  for (const { name: called, lastSeenAt } of nodes.filter(({ isGone }) => isGone))
    yield ['bad', '#nodes', html`Node ${name(called)} is gone`, html`It has not reported since ${time(lastSeenAt)}.`]
}

function* ofCertificates({ at, certificates }: Statistics): Generator<Matter> {
  for (const { listener, endsAt, problem } of certificates) {
    const hasEnded = endsAt <= at
    const end = html`${hasEnded ? 'It expired' : 'It expires'} at ${time(endsAt)}.`
    const detail = problem === undefined ? html`${end} Renew it.` : html`The new one is not used: ${problem} ${end}`
    const tone = problem !== undefined || hasEnded ? 'bad' : 'warn'
    const what = `TLS certificate of the ${listener} listener`
    if (problem !== undefined || endsAt - at < CERTIFICATE_ENDS_MS) yield [tone, '/about', what, detail]
  }
}

function* ofClients({ trouble }: Statistics): Generator<Matter> {
  const { failing = [], removed = [] } = trouble ?? {}
  for (const { kind, id, name: called, reason, count: times, since } of failing.slice(0, SHOWN)) {
    const detail = html`${wordsOf(reason)}: refused ${many(times, 'time')} since ${time(since)}.`
    yield ['bad', placeOf(kind, id, reason), name(called), detail]
  }
  const more = failing.length - SHOWN
  if (more > 0) yield ['bad', '/applications?status=failing', `${count(more)} more`, 'They are refused now, too.']
  for (const { clientId, name: called, by, at, count: times, since } of removed.slice(0, SHOWN)) {
    const detail = html`Removed by ${by} at ${time(at)}. Its client id, or a similar one, was refused ${many(times, 'time')} since ${time(since)}.`
    yield ['warn', path`/applications/${clientId}`, name(called), detail]
  }
}

function* ofOutages({ at, outages }: Statistics): Generator<Matter> {
  for (const { beganAt, endedAt, failures } of outages.toReversed()) {
    const [begin, end] = [time(beganAt, '', true), time(endedAt, '', true)]
    const when = begin.text === end.text ? html`At ${begin}` : html`From ${begin} to ${end}`
    const detail = html`${when}: ${many(failures, 'request')} answered with 503.`
    const tone = at - endedAt < OUTAGE_GAP_MS ? 'bad' : 'warn'
    if (at - endedAt < DAY) yield [tone, '/refusals?reason=store+unavailable', 'Outage of the database', detail]
  }
}

function* ofSecrets({ endingSecrets }: Statistics): Generator<Matter> {
  if (!endingSecrets) return
  const { next } = endingSecrets
  for (const { kind, id, name: called, endsAt } of next.slice(0, SHOWN)) {
    const detail = html`The secret that it uses ends at ${time(endsAt)}. After that, its requests are refused, unless it uses a newer one.`
    yield ['warn', `${placeOf(kind, id, 'expired secret')}#secrets`, name(called), detail]
  }
  const more = endingInUse(endingSecrets) - SHOWN
  if (more > 0)
    yield ['warn', '/secrets?show=ending&sort=end', `${count(more)} more`, 'Their secrets end within 7 days.']
}

/** How many applications and suites use a secret that ends within 7 days, whether they have a newer one or not. */
export function endingInUse({ next, inAWeek }: EndingSecrets): number {
  return Math.max(inAWeek, next.length)
}

function* ofChecks({ lastHour, refusals, trouble }: Statistics): Generator<Matter> {
  const checks = Math.max(lastHour.activeChecks + lastHour.inactiveChecks, 1)
  for (const { suite, reason, count: times, since } of trouble?.refusedChecks.slice(0, SHOWN) ?? []) {
    const counted = refusals.find((one) => one.kind === 'check' && one.reason === reason)
    const share = (counted?.count ?? 0) / checks
    const detail = html`${wordsOf(reason)}: ${many(times, 'check')} since ${time(since)}; ${percent(share)} of all checks in the last hour.`
    if (share > MANY_REFUSED)
      yield ['warn', `${path`/suites/${suite}`}#checks`, html`Checks at <code>${suite}</code>`, detail]
  }
}

function* ofHeavy({ heavy }: Statistics): Generator<Matter> {
  for (const { clientId, name: called, tokens } of heavy.slice(0, SHOWN)) {
    const detail = `Many tokens, ${count(tokens)} in the last 60 minutes: it should use each until it expires.`
    yield ['warn', path`/applications/${clientId}`, name(called), detail]
  }
  const more = heavy.length - SHOWN
  if (more > 0) yield ['warn', '/applications?status=heavy', `${count(more)} more`, 'They get many tokens, too.']
}

function* ofBackup({ at, startedAt, store: { kind, databaseBytes, lastBackupAt = 0 } }: Statistics): Generator<Matter> {
  const isNew = lastBackupAt === 0 && at - startedAt < DAY
  if (kind !== 'sqlite' || databaseBytes === 0 || at - lastBackupAt < OLD_BACKUP_MS || isNew) return
  const last = lastBackupAt === 0 ? 'None was made yet.' : html`The last one was made at ${time(lastBackupAt)}.`
  yield ['warn', '#database', 'No backup', html`${last} <code>token-server backup FILE</code> makes one.`]
}

function wordsOf(reason: string): string {
  const { words = reason } = factsOf(reason) ?? {}
  return words.charAt(0).toUpperCase() + words.slice(1)
}
