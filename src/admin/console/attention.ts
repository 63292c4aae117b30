import type { FastifyInstance, FastifyRequest } from 'fastify'
import { type Matter, mattersOf } from '../../administration/attention.ts'
import type { Statistics } from '../../views/statistics.ts'
import { address, type Html, html, type Part } from '../../web/html.ts'
import type { AdminContext } from '../context.ts'
import { administrationOf } from '../wire/caller.ts'
import { age, badge, name, section } from './components.ts'
import { withTimes } from './diagnosis.ts'
import { canChange, fieldsOf, hidden, redirectDone, textsIn } from './forms.ts'
import { RANGE_NAMES } from './range.ts'

/** How many items of one kind are shown. */
const SHOWN = 20

/** What is said of several of a kind. `clients`: applications, suites, or both. */
const SEVERAL: Readonly<Record<string, string>> = {
  'client refused': 'clients are refused',
  'client would be refused': 'clients would be refused',
  'removed client refused': 'removed clients still call',
  certificate: 'TLS certificates end, or cannot be used',
  'issuer away': 'issuers have keys that cannot be fetched',
  'node gone': 'nodes are gone',
  'secret ends': 'clients use a secret that ends within 7 days',
  'checks refused': 'suites refuse many checks',
  'many tokens': 'clients get many tokens',
}

const ROTATE = ['Rotate…', '#rotate'] as const
const APPROVE = ['Approve…', '/edit#approvals'] as const
const EDIT_QUOTA = ['Edit quota…', '/edit?propose=quota#field-quota'] as const
const EDIT_ADDRESSES = ['Edit addresses…', '/edit#field-source_addresses'] as const

/** What an admin can do, by reason: the label, and what to add to the path of the application or the suite. */
const ACTIONS: Readonly<Record<string, readonly [label: string, place: string]>> = {
  secret: ROTATE,
  'wrong secret': ROTATE,
  'expired secret': ROTATE,
  'revoked secret': ROTATE,
  'application not approved': APPROVE,
  'resource not approved': APPROVE,
  'many tokens': ['Edit quota…', '/edit#field-quota'],
  'token quota exceeded': EDIT_QUOTA,
  'token quota exceeded (report only)': EDIT_QUOTA,
  'address not allowed': EDIT_ADDRESSES,
  'address not allowed (report only)': EDIT_ADDRESSES,
}

/** What is said of one client, most serious first. */
type Item = readonly [Matter, ...Matter[]]

/** POST /: takes warnings from what needs attention, for all operators. The time range stays. */
export function acknowledging(console: FastifyInstance, context: AdminContext): void {
  console.post('/', async (request, reply) => {
    const asked = fieldsOf(request.body).all('warning')
    const matters = mattersOf(await context.statistics.read(), SHOWN)
    const known = matters.filter(({ occurrence }) => asked.includes(String(occurrence)))
    const isNew = await administrationOf(context, request).acknowledge(known)
    const page = address('/', textsIn(RANGE_NAMES, request.query))
    // Otherwise browsers stay at the part that they were at, which may be the one of a time range.
    return redirectDone(reply, page, isNew ? 'acknowledged' : 'nothing-changed', '#main')
  })
}

/** Who looks at what needs attention, and the occurrences that are acknowledged. */
export interface Attending {
  canChange: boolean
  acknowledged: ReadonlySet<string | undefined>
}

export async function attendingOf(context: AdminContext, request: FastifyRequest): Promise<Attending> {
  // While the store does not answer, nothing is acknowledged.
  const acknowledged = await administrationOf(context, request)
    .listAcknowledged()
    .catch(() => new Set<string>())
  return { canChange: canChange(request), acknowledged }
}

/** What needs attention, by kind: most serious first, and then newest first. Each client is there once. */
export function attention(statistics: Statistics, { canChange, acknowledged }: Attending): Html {
  const matters = mattersOf(statistics, SHOWN)
  const { bad = [], others = [] } = Object.groupBy(matters, ({ tone }) => (tone === 'bad' ? 'bad' : 'others'))
  const keyOf = ({ place, what }: Matter) => `${place.split('#')[0]} ${what}`
  const items = [...Map.groupBy([...bad, ...others], keyOf).values()] as unknown as Item[]
  if (items.length === 0)
    return html`<p>${statistics.trouble ? badge('Nothing needs attention', 'good') : badge('It is not known yet whether clients have problems')}</p>`
  const isKnown = (item: Item) => item.every(({ occurrence }) => acknowledged.has(occurrence))
  const { known = [], open = [] } = Object.groupBy(items, (item) => (isKnown(item) ? 'known' : 'open'))
  const groups = Map.groupBy(open, ([{ kind, others }]) => others?.kind ?? kind)
  const rows = [...groups.values()].map((group) => groupOf(group, statistics.at, canChange))
  const rest = known.map((item) => rowOf(item, statistics.at, canChange, true))
  const fold = rest.length > 0 && html`<li>${unfolding('acknowledged', html`${rest.length} acknowledged`, rest)}</li>`
  const heading = open.length > 0 ? 'Needs attention' : 'Nothing else needs attention'
  return section('attention', heading, html`<ul class="matters">${rows}${fold}</ul>`)
}

function groupOf(group: readonly Item[], now: number, canChange: boolean): Html {
  const newestFirst = group.toSorted(([one], [other]) => (other.since ?? 0) - (one.since ?? 0))
  const rows = newestFirst.map((item) => rowOf(item, now, canChange))
  if (rows.length === 1) return html`${rows}`
  const [[{ kind, tone }], [{ since }]] = [group, newestFirst].map(([first]) => first) as [Item, Item]
  const count = group.reduce((sum, [{ others }]) => sum + (others?.count ?? 1), 0)
  const hasSuites = group.some(([{ subject }]) => subject?.kind === 'suite')
  const what = String(SEVERAL[kind]).replace('clients', hasSuites ? 'clients' : 'applications')
  const newest = since !== undefined && html` <span class="hint">newest ${age(since, now)}</span>`
  const summary = html`<strong>${count.toLocaleString('en')} ${what}</strong>${newest}`
  return html`<li class="${tone}">${unfolding(`attention-${kind.replaceAll(' ', '-')}`, summary, rows)}</li>`
}

/** `id`: live.js keeps it open. */
function unfolding(id: string, summary: Html, rows: readonly Html[]): Html {
  return html`<details id="${id}"><summary>${summary}</summary><ul class="matters">${rows}</ul></details>`
}

function rowOf(item: Item, now: number, canChange: boolean, isKnown = false): Html {
  const [matter] = item
  const { tone, place, what, subject } = matter
  const title = what === subject?.name ? name(what) : what
  // A part of this page.
  const href = place.replace(/^\/(?=#)/, '')
  return html`<li class="${tone}"><strong><a href="${href}">${title}</a></strong> <span>${item.map((one) => detailOf(one, now))}</span>${actionOf(matter, canChange)}${canChange && !isKnown && acknowledgeButton(item)}</li>
`
}

function actionOf({ reason = '', place, what }: Matter, canChange: boolean): Html | false {
  const page = place.replace(/#.*/, '')
  const action = canChange && ACTIONS[reason]
  const [label, href] = action ? [action[0], page + action[1]] : ['Open', place]
  return page !== '/' && html`<a class="button" href="${href}">${label}<span class="unseen"> ${what}</span></a>`
}

/** False for what the server sees at this moment. Without an action, the form goes to the address of the page, with its range. */
function acknowledgeButton(item: Item): Html | false {
  const occurrences = item.flatMap(({ occurrence }) => occurrence ?? [])
  if (occurrences.length < item.length) return false
  const inputs = occurrences.map((warning) => hidden({ warning }))
  return html`<form method="post">${inputs}<button class="button">Acknowledge<span class="unseen"> ${item[0].what}</span></button></form>`
}

/** The page of an application or a suite says what to do. */
function detailOf({ kind, detail, remedy, subject }: Matter, now: number): Html {
  const advice = subject && subject.kind !== 'server' ? '' : (remedy ?? '')
  const parts = `${detail} ${advice}`.split('`').map((text, at): Part => {
    return at % 2 === 0 ? withAges(text, now, kind === 'outage') : html`<code>${text}</code>`
  })
  return html`${parts} `
}

/** `at` a time of the past is how long ago that was. */
function withAges(text: string, now: number, withSeconds: boolean): Part[] {
  return text.split(/( at \d{4}-\d\d-\d\dT[\d:.]+Z)/).map((part, n) => {
    const moment = Date.parse(part.slice(' at '.length))
    return n % 2 === 1 && moment <= now ? html` ${age(moment, now)}` : withTimes(part, { withSeconds })
  })
}
