import type { FastifyInstance } from 'fastify'
import type { Administration } from '../../administration/administration.ts'
import type { RefusalQuery } from '../../administration/refused-requests.ts'
import { abbreviated } from '../../domain/application.ts'
import { factsOf, isTokenReason, REASON_NAMES } from '../../domain/reasons.ts'
import { ENDPOINTS, REFUSAL_FILTERS, type RefusedRequest } from '../../domain/refusal.ts'
import { SECRET_LENGTH } from '../../domain/secret.ts'
import type { Suite } from '../../domain/suite.ts'
import { camelCased } from '../../domain/text.ts'
import { isDay, MINUTE } from '../../domain/time.ts'
import { REFUSED_REQUEST } from '../../views/refused-request.ts'
import { view } from '../../views/schema.ts'
import type { AdminContext } from '../context.ts'
import { administrationOf } from '../wire/caller.ts'
import { ProblemError } from '../wire/problem.ts'
import { listChoices } from './application.ts'
import { asOf, emptyState, facts, liveControls, name, note, pager, section, table, time } from './components.ts'
import { diagnosisNote, placeOf, refusedTable } from './diagnosis.ts'
import { everyPage, exportLinks, exportList } from './exports.ts'
import { type FieldState, field, fieldsOf, select, statesOf, textsIn } from './forms.ts'
import { address, type Html, html, type Part, path } from './html.ts'
import { type Page, showPage } from './layout.ts'

const PAGE_SIZE = 50

const PARENT = { href: '/refusals', label: 'Refusals' } as const

const FILTERS = [...REFUSAL_FILTERS, 'since', 'until'] as const

type Filter = Record<(typeof FILTERS)[number], string>

/** /refusals: refused requests one by one, newest first. /requests/ID: those with a request id, and why. */
export function refusalPages(console: FastifyInstance, context: AdminContext): void {
  const { now } = context

  console.get('/refusals', async (request, reply) => {
    const { searchRefusedRequests, listLastRefused } = administrationOf(context, request)
    const { filter, wrong, query } = await askedFor(searchRefusedRequests, request.query)
    const before = /^[1-9]\d{0,14}$/.exec(fieldsOf(request.query).text('before'))?.[0]
    const cursor = before === undefined ? undefined : Number(before)
    const { requests, next } = await searchRefusedRequests({ ...query, before: cursor, limit: PAGE_SIZE })
    const base = address('/refusals', filter)
    const isFiltered = isAnySet(filter)
    const isFirst = before === undefined
    // Names are compared one by one, which is too much for every second.
    const isLive = isFirst && query.search === undefined
    const stateOf = statesOf(wrong.map((field) => ({ field, message: WRITE_A_TIME })))
    const older = next === undefined ? undefined : address('/refusals', { ...filter, before: String(next) })
    const counted =
      isFirst &&
      !isFiltered &&
      requests.length > 0 &&
      refusedTable(await listLastRefused(), 'None in the last 30 days.')
    const page: Page = {
      title: 'Refusals',
      section: '/refusals',
      lead: 'Requests and token checks that were refused or failed, newest first, of all nodes. They show up within five seconds; the last 5,000 of registered clients and 5,000 of others are kept.',
      scripts: isLive ? ['live.js'] : [],
      actions: isLive && liveControls(base, { page: 'refusals', ...filter }),
      content: html`${filterForm(filter, await listChoices(context, request), stateOf, isFiltered)}
${requests.length > 0 && html`<p class="hint">${exportLinks('/refusals', filter)}</p>`}${isLive ? liveList(requests, now(), isFiltered) : list(requests, isFiltered)}
${pager(!isFirst && base, older)}
${counted && section('counted', 'By client, suite and reason', counted)}`,
    }
    return showPage(reply, page, { status: wrong.length > 0 ? 422 : 200 })
  })

  exportList(console, context, {
    path: '/refusals',
    list: 'refusals',
    row: REFUSED_REQUEST,
    async *pages(request) {
      const { searchRefusedRequests } = administrationOf(context, request)
      const { wrong, query } = await askedFor(searchRefusedRequests, request.query)
      if (wrong.length > 0) throw new ProblemError('invalid', WRITE_A_TIME)
      yield* everyPage<number>(async ({ after: before, limit }) => {
        const { requests, next } = await searchRefusedRequests({ ...query, before, limit })
        return { rows: requests.map((one) => view(REFUSED_REQUEST, one)), next }
      })
    },
  })

  console.get<{ Params: { id: string } }>('/requests/:id', async (request, reply) => {
    const { id } = request.params
    const actions = administrationOf(context, request)
    const { requests } = await actions.searchRefusedRequests({ requestId: id, limit: PAGE_SIZE })
    const page = requests.length > 0 ? await requestPage(id, requests, actions) : unknownRequestPage(id)
    return showPage(reply, page, { status: requests.length > 0 ? 200 : 404 })
  })
}

const WRITE_A_TIME = 'Write a time like this: 2027-01-31T15:16.'

/**
 * What a page or a file is asked for, and which times are wrong. Finds the requests of the client with this id, which is stored
 * abbreviated if it is not registered, or else those with these words in the id or the name of the client.
 */
async function askedFor(search: Administration['searchRefusedRequests'], values: unknown) {
  const filter = textsIn(FILTERS, values)
  const given = Object.entries(filter).filter(([, value]) => value !== '')
  const { since, until, clientId, ...others } = camelCased<Partial<Record<string, string>>>(Object.fromEntries(given))
  const times = { since: timeIn(since), until: timeIn(until) }
  const ids = clientId === undefined ? [] : [clientId, abbreviated(clientId)]
  const known = await Promise.all(ids.map((clientId) => search({ clientId, limit: 1 })))
  const id = ids.find((_, n) => known[n]?.requests.length)
  const query: Omit<RefusalQuery, 'limit'> = {
    ...others,
    ...(id === undefined ? { search: clientId } : { clientId: id }),
    since: times.since || undefined,
    until: times.until ? times.until + MINUTE : undefined,
  }
  return { filter, query, wrong: (['since', 'until'] as const).filter((name) => Number.isNaN(times[name])) }
}

/** A time in UTC from a form, in milliseconds since the epoch; NaN: it is malformed. */
function timeIn(text: string | undefined): number | undefined {
  if (text === undefined) return
  const isTime = isDay(text.slice(0, 10)) && /^.{10}T\d\d:\d\d(:\d\d)?$/.test(text)
  return isTime ? Date.parse(`${text}Z`) : Number.NaN
}

/** The parts of the first page that change while it is open. `query`: has the filter. */
export async function liveRefusals(
  { searchRefusedRequests }: Administration,
  values: unknown,
  now: number,
): Promise<Html> {
  const { filter, query } = await askedFor(searchRefusedRequests, values)
  const { requests } = await searchRefusedRequests({ ...query, limit: PAGE_SIZE })
  return liveList(requests, now, isAnySet(filter))
}

function isAnySet(filter: Filter): boolean {
  return Object.values(filter).some((value) => value !== '')
}

function liveList(found: readonly RefusedRequest[], now: number, isFiltered: boolean): Html {
  return html`<div class="panel-part" data-live="refusals">${asOf(now)}${list(found, isFiltered)}</div>`
}

const COLUMNS = [
  { label: 'When and request id', kind: 'line' },
  { label: 'Reason', kind: 'line' },
  'Client',
  'Endpoint',
  'Address',
] as const

function list(found: readonly RefusedRequest[], isFiltered: boolean): Html {
  if (found.length === 0 && isFiltered)
    return emptyState('No matches', html`<p><a href="/refusals">All refusals</a></p>`)
  if (found.length === 0) return emptyState('No refusals', html`<p>Nothing was refused in the last 30 days.</p>`)
  return table('Refusals, newest first', COLUMNS, found.map(row))
}

function row(request: RefusedRequest) {
  const { at, requestId, reason, endpoint, suite, remoteAddress } = request
  return [
    html`<a href="${path`/requests/${requestId}`}">${time(at, '', true)}</a> <code title="${requestId}">${requestId}</code>`,
    html`<span title="${factsOf(reason)?.words}">${reason}</span>`,
    clientOf(request),
    html`<code>${endpoint}</code>${suite && html` <code>${suite}</code>`}`,
    html`<code>${remoteAddress}</code>`,
  ]
}

/** The end of an abbreviated client id that is as long as a secret. */
const LIKE_SECRET = abbreviated('x'.repeat(SECRET_LENGTH)).slice(4)

/** The client of a request, with a link to where its problem is mended. */
function clientOf({ kind, clientId, name: named, reason, suite }: RefusedRequest): Part {
  if (clientId) {
    if (!kind || !named)
      return html`<span class="code">${clientId}</span><div class="hint">not registered${clientId.endsWith(LIKE_SECRET) && '; as long as a secret: were id and secret swapped?'}</div>`
    return html`<a href="${placeOf(kind, clientId, reason)}">${name(named)}</a>`
  }
  return suite ? 'no known application' : '–'
}

function filterForm(
  filter: Filter,
  suites: readonly Suite[],
  stateOf: (name: string) => FieldState,
  isFiltered: boolean,
): Html {
  const moment = (label: string, name: 'since' | 'until') =>
    field({ label, name, type: 'datetime-local', value: filter[name], ...stateOf(name) })
  const choices = (label: string, named: 'suite' | 'reason' | 'endpoint', values: readonly string[]) => {
    const all = [...new Set(['', filter[named], ...values])].map((value) => ({ value, label: value || 'Any' }))
    return select({ label, name: named, value: filter[named] }, all)
  }
  const suiteIds = suites.map(({ suiteId }) => suiteId)
  return html`<form class="filters" method="get" action="/refusals" aria-label="Filter the refusals">${[
    moment('Since (UTC)', 'since'),
    moment('Until (UTC)', 'until'),
    field({ label: 'Client', name: 'client_id', value: filter.client_id, placeholder: 'Name, id or part' }),
    choices('Reason', 'reason', REASON_NAMES),
    choices('Suite', 'suite', suiteIds),
    choices('Endpoint', 'endpoint', ENDPOINTS),
    field({ label: 'Address', name: 'remote_address', value: filter.remote_address, isCode: true }),
  ]}<div class="buttons"><button class="button">Filter</button>${isFiltered && html`<a class="button" href="/refusals">Clear</a>`}</div></form>`
}

/** Where the remedies are, seen from the page of a request. */
const INSTRUCTIONS = {
  resume: () => '“Resume” on its page',
  quota: () => '“Edit” on its page',
  rotate: () => '“Rotate secret” on its page',
  approve: (_: string, suites: readonly string[]) => `approve it for ${suites.join(', ') || 'a suite'} on its page`,
  list: 'the list of applications',
  ofSuite: (_: string, diagnosis: string) => diagnosis,
}

/** What is known of a request id. A caller may use one for several requests. */
async function requestPage(id: string, found: readonly RefusedRequest[], { why }: Administration): Promise<Page> {
  const { kind, clientId, name: called, reason } = found.find(({ kind }) => kind) ?? {}
  const others = clientId ? { client_id: clientId } : { remote_address: String(found[0]?.remoteAddress) }
  return {
    title: `Request ${id}`,
    heading: html`<span>Request <code>${id}</code></span>`,
    section: '/refusals',
    trail: [PARENT],
    content: html`${found.map(details)}
${kind && clientId ? section('why', html`${name(String(called))} now`, diagnosisNote(await why(clientId, INSTRUCTIONS)), html`<a class="button primary" href="${placeOf(kind, clientId, String(reason))}">Go to the ${kind}</a>`) : found.slice(0, 1).map(answerNote)}
<div class="buttons"><a class="button" href="${address('/refusals', others)}">Other refusals like this</a></div>`,
  }
}

const LABELS = ['When', 'Reason', 'Client', 'Endpoint', 'Address']

function details(request: RefusedRequest): Html {
  const [, ...cells] = row(request)
  const values = [time(request.at, '', true), ...cells]
  return html`<div class="panel">${facts(LABELS.map((label, n) => [label, values[n]]))}</div>`
}

/** Why a request that is of no registered client was refused, and what to do. */
function answerNote({ reason, clientId }: RefusedRequest): Html {
  const { description = reason, words = description.split(':')[0] } = factsOf(reason) ?? {}
  const check = clientId
    ? 'Compare the client id with that of the application.'
    : 'The log has more: search it for this id.'
  const advice = isTokenReason(reason) ? 'The caller should get a new token, and send the whole of it.' : check
  return note('warn', html`<p><strong>${words}.</strong> ${advice}</p>`)
}

function unknownRequestPage(id: string): Page {
  return {
    title: 'No such refusal',
    section: '/refusals',
    trail: [PARENT],
    content: html`${note('warn', html`<p>None of the refusals that are kept has the request id <code>${id}</code>.</p>`)}
<div class="panel prose"><p>A refusal shows up within five seconds, and the last 5,000 of registered clients and 5,000 of others are kept; in a flood some are left out. A request that was answered well is not kept. The log has all of them: search it for this id.</p></div>`,
  }
}
