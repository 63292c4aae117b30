import type { FastifyRequest } from 'fastify'
import { placeOf } from '../../administration/attention.ts'
import type { Made } from '../../administration/audit-trail.ts'
import { endingSecret, type Health } from '../../administration/diagnosis.ts'
import type { Instructions } from '../../administration/remedies.ts'
import { isHeavy, isQuiet, type ListedApplication, type RecentUse } from '../../administration/search.ts'
import type { Explanation } from '../../administration/why.ts'
import { factsOf, isTokenReason } from '../../domain/reasons.ts'
import type { RefusalCount, RefusedClient } from '../../domain/refusal.ts'
import { secretState } from '../../domain/secret.ts'
import type { Suite } from '../../domain/suite.ts'
import { DAY } from '../../domain/usage.ts'
import { type Html, html, type Part, path } from '../../web/html.ts'
import type { AdminContext } from '../context.ts'
import { administrationOf } from '../wire/caller.ts'
import {
  age,
  asOf,
  badge,
  type Column,
  changeLink,
  name,
  number,
  section,
  statusBadge,
  type Tone,
  table,
  time,
} from './components.ts'
import { canChange, hidden } from './forms.ts'

/** The instructions of a page, and the buttons that they name. */
export interface PageInstructions extends Instructions {
  buttons: ReadonlyMap<string, Html>
}

/** Instructions that the operator who sent the request can follow: viewers see no buttons. */
export function instructionsFor(request: FastifyRequest): PageInstructions {
  const buttons = new Map<string, Html>()
  const common = { list: 'the list of applications', ofSuite: (_: string, diagnosis: string) => diagnosis, buttons }
  if (!canChange(request)) {
    return {
      ...common,
      resume: () => 'ask an admin to resume it',
      edit: (_, field) => `ask an admin to change its ${field.replace('_', ' ')}`,
      rotate: () => '“Rotate secret” (ask an admin)',
      approve: (_, suites) => `ask an admin to approve it for ${suites.join(', ') || 'a suite'}`,
    }
  }
  const named = (label: string, button: Html) => {
    buttons.set(label, button)
    return `“${label}”`
  }
  const post = (label: string, action: string, fields: Record<string, string> = {}) =>
    named(
      label,
      html`<form method="post" action="${action}">${hidden(fields)}<button class="button primary">${label}</button></form>`,
    )
  return {
    ...common,
    resume: (clientId) => post('Resume', path`/applications/${clientId}/resume`),
    edit(clientId, field) {
      const label = `Edit the ${field.replace('_', ' ')}`
      const form = `${path`/applications/${clientId}/edit`}${field === 'quota' ? '?propose=quota' : ''}#field-${field}`
      return named(label, html`<a class="button" href="${form}">${label}…</a>`)
    },
    rotate: () => named('Rotate secret', html`<a class="button primary" href="#rotate">Rotate secret…</a>`),
    approve(clientId, suites) {
      for (const suite of suites) post(`Approve for ${suite}`, path`/applications/${clientId}/approve`, { suite })
      if (suites.length > 0) return suites.length === 1 ? `“Approve for ${suites[0]}”` : 'use the buttons'
      return named(
        'Approve',
        html`<a class="button primary" href="${path`/applications/${clientId}/edit`}#approvals">Approve…</a>`,
      )
    },
  }
}

/** How many clients with ending secrets are read. */
const MAX_ENDING = 1000

export type Troubled = Awaited<ReturnType<typeof findTroubled>>

/** The applications or suites that are failing, also after the last change, and those that lose a secret that they use within a week: when, by id. */
export async function findTroubled(context: AdminContext, request: FastifyRequest, kind: RefusedClient['kind']) {
  const now = context.now()
  const { searchAuditEvents, listEndingSecrets } = administrationOf(context, request)
  const { events } = await searchAuditEvents({ limit: 1 })
  const version = events[0]?.id
  const { failing = [] } = (await context.statistics.readTrouble(version)) ?? {}
  const ending = await listEndingSecrets(now + 7 * DAY, MAX_ENDING)
  const isOfKind = (client: { kind: string }) => client.kind === kind
  return {
    now,
    version,
    failing: new Set(failing.filter(isOfKind).map(({ id }) => id)),
    ending: new Map(ending.filter(isOfKind).map(({ id, endsAt }) => [id, endsAt])),
  }
}

type Listed = Pick<ListedApplication, 'status' | 'secrets' | keyof RecentUse>

/** The states of an application or a suite, in the words of the list. `isFailing` if it is refused now, and was in the last day. */
export function badges(
  client: Listed | Pick<Suite, 'secrets'>,
  { isFailing, endsSoon, now }: { isFailing: boolean; endsSoon: boolean; now: number },
): Html {
  const application = 'status' in client ? client : undefined
  if (application?.status === 'suspended') return statusBadge(application.status)
  const marks = [
    isFailing && badge('failing', 'bad'),
    client.secrets.every((secret) => secretState(secret, now) !== 'active') && badge('no secret', 'bad'),
    endsSoon && badge('secret ends', 'warn'),
    application && isHeavy(application) && badge('heavy', 'warn'),
    application && isQuiet(application, now) && badge(application.lastTokenAt ? 'quiet' : 'no token yet'),
  ].filter(Boolean)
  return html`<span class="badges">${marks.length > 0 ? marks : statusBadge('active')}</span>`
}

const ANSWERS: Record<Health, readonly [tone: Tone, answer: string]> = {
  well: ['good', 'No problem is known.'],
  doubtful: ['warn', 'This may need attention.'],
  wrong: ['bad', 'There is a problem.'],
}

const SUSPENDED = ['quiet', 'It is suspended.'] as const

/** The diagnosis of a client: whether there is a problem, a line for each reason, and buttons that fix it. */
export function diagnosisNote(
  { application, authors, health, lines, elsewhere }: Explanation,
  buttons: PageInstructions['buttons'] = new Map(),
): Html {
  const [tone, answer] = application?.status === 'suspended' ? SUSPENDED : ANSWERS[health]
  const parts = lines.map((line) => withTimes(line, { changes: [...authors.values()] }))
  // Screen readers announce the answer when it changes, but not when only ages do.
  const strong = html`<strong role="status">${answer}</strong>`
  const text =
    parts.length === 1
      ? html`<p>${strong} ${parts}</p>`
      : html`<p>${strong}</p><ul>${parts.map((line) => html`<li>${line}</li>`)}</ul>`
  const more =
    elsewhere && html`<details><summary>Does the partner still see errors?</summary><p>${elsewhere}</p></details>`
  const actions = buttons.size > 0 && html`<div class="buttons">${[...buttons.values()]}</div>`
  return html`<div class="note ${tone}">${text}${actions}${more}</div>`
}

/** Turns timestamps in a text into `<time>` elements, which are shown in the reader's time zone. Those of `changes` are links. */
export function withTimes(text: string, { withSeconds = false, changes = [] as readonly Made[] } = {}): Part[] {
  return text.split(/(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)/).map((part, n) => {
    const moment = Date.parse(part)
    // A request id that a client sent may look like a timestamp without being one.
    if (n % 2 === 0 || Number.isNaN(moment)) return part
    const change = changes.find(({ at }) => at === moment)
    const shown = time(moment, '', withSeconds)
    return change ? changeLink(change, shown) : shown
  })
}

/** The parts of the page of an application or a suite that change while it is open. */
export function liveDiagnosis(explanation: Explanation, buttons: PageInstructions['buttons'], now: number) {
  const { application, suite, health, refusals, similarRefusals } = explanation
  // It may have been removed in the meantime.
  const client = application ?? suite
  const isFailing = health === 'wrong' && refusals.some(({ lastAt }) => lastAt > now - DAY)
  const own =
    refusals.length === 0
      ? html`<p class="quiet-text">No request was refused in the last 30 days.</p>`
      : refusalsTable('Its last refusals, newest first', refusals, now)
  const title = suite ? 'Last refusals of its own requests' : 'Last refusals'
  const similar = similarRefusalsPanel('similar', 'Refused client ids that look like this one', similarRefusals, now)
  return {
    asOf: html`<div data-live="as-of">${asOf(now)}</div>`,
    state: html`<span data-live="state">${client && badges(client, { isFailing, endsSoon: endingSecret(client.secrets, now) !== undefined, now })}</span>`,
    status: html`<div data-live="status">${diagnosisNote(explanation, buttons)}</div>`,
    refusals: html`<div class="panel-part" data-live="refusals">${section('refusals', title, html`${own}${DELAY_HINT}`)}${similar}</div>`,
  }
}

const DELAY_HINT = html`<p class="hint">Refusals show up within 5 seconds, tokens and uses of secrets within a minute.</p>`

export function similarRefusalsPanel(
  id: string,
  heading: string,
  refusals: readonly RefusalCount[],
  now: number,
): Html | undefined {
  if (refusals.length === 0) return
  return section(id, heading, refusalsTable('Refused client ids that look like it, newest first', refusals, now, true))
}

const CLIENT_COLUMN = 'Client id as sent'

const COLUMNS: readonly Column[] = [
  'Reason',
  number('Times'),
  { label: 'Last refused', kind: 'line' },
  'Endpoint',
  'Address',
  'Last request id',
]

/** Refusals, newest first; with the client id of each if `withClient`. */
function refusalsTable(caption: string, refusals: readonly RefusalCount[], now: number, withClient = false): Html {
  const rows = refusals.map((refusal) => {
    const { reason, endpoint, suite, remoteAddress, count, lastAt, requestId } = refusal
    return [
      reasonOf(reason),
      ...(withClient ? [html`<span class="code">${refusal.clientId}</span>`] : []),
      count.toLocaleString('en'),
      html`${age(lastAt, now)}<div class="hint">${time(lastAt)}</div>`,
      html`<code>${endpoint}</code>${suite !== undefined && html` <code>${suite}</code>`}`,
      html`<code>${remoteAddress}</code>`,
      requestId === undefined ? '–' : html`<code title="${requestId}">${requestId}</code>`,
    ]
  })
  return table(caption, withClient ? COLUMNS.toSpliced(1, 0, CLIENT_COLUMN) : COLUMNS, rows)
}

/** A reason in words, with its name as in the log. */
export function reasonOf(reason: string): Html {
  const words = factsOf(reason)?.words
  return html`<span class="name">${words === undefined ? reason : html`${words} <span class="hint">${reason}</span>`}</span>`
}

/** A link to the diagnosis of a text that matched nothing, if it may be a client id: request ids of this server are not. */
export function whyRefused(text: string): Html | false {
  if (!/^(?![\da-f]{20}$)\S{6,200}$/.test(text)) return false
  return html`<p>Is this the client id that a partner sends? <a href="${path`/applications/${text}`}">See why it is refused</a>.</p>`
}

const MAX_ROWS = 20

const CLIENT_COLUMNS = ['Client', 'Suite', 'Reason', number('Times'), 'First', { label: 'Last', kind: 'line' }] as const

/**
 * Refusals by client, suite and reason, with links to where to fix them. `empty` is shown if there are none. If `isOfOne`, all
 * concern one suite, whose column is left out.
 */
export function refusedTable(refused: readonly RefusedClient[], empty: string, isOfOne = false): Html {
  if (refused.length === 0) return html`<p class="quiet-text">${empty}</p>`
  const cellsOf = <Cell>(row: readonly Cell[]) => (isOfOne ? row.toSpliced(1, 1) : row)
  const keyOf = ({ kind, id, suite, reason }: RefusedClient) => JSON.stringify([kind, id, suite, reason])
  const groups = [...Map.groupBy(refused, keyOf).values()]
  const rows = groups.slice(0, MAX_ROWS).map((alike) => {
    const { kind, id, name: called, suite, reason, lastAt } = alike[0] as RefusedClient
    const isUnknown = kind === 'suite' && isTokenReason(reason)
    const place = placeOf(kind, id, reason)
    return cellsOf<Part>([
      isUnknown ? 'no known application' : html`<a href="${place}">${name(called)}</a>`,
      suite === '' ? '–' : html`<a href="${path`/suites/${suite}`}"><code>${suite}</code></a>`,
      html`<a href="${place}">${reasonOf(reason)}</a>`,
      alike.reduce((sum, { count }) => sum + count, 0).toLocaleString('en'),
      time(Math.min(...alike.map(({ firstAt }) => firstAt))),
      time(lastAt),
    ])
  })
  const all = groups.length.toLocaleString('en')
  return html`${table('Refusals by client, suite and reason, newest first', cellsOf<Column>(CLIENT_COLUMNS), rows)}${groups.length > MAX_ROWS && html`<p class="hint">The newest ${MAX_ROWS} of ${all}.</p>`}`
}
