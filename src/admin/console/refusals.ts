import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Administration } from '../../administration/administration.ts'
import { placeOf } from '../../administration/attention.ts'
import type { RefusalQuery } from '../../administration/refusals.ts'
import { abbreviated } from '../../domain/application.ts'
import { factsOf, isTokenReason } from '../../domain/reasons.ts'
import { ENDPOINTS, REFUSAL_FILTERS, type RefusedRequest } from '../../domain/refusal.ts'
import { SECRET_LENGTH } from '../../domain/secret.ts'
import type { Suite } from '../../domain/suite.ts'
import { camelCased } from '../../domain/text.ts'
import { REFUSED_REQUEST } from '../../views/refused-request.ts'
import { view } from '../../views/schema.ts'
import { address, type Html, html, type Part } from '../../web/html.ts'
import type { AdminContext } from '../context.ts'
import { listChoices } from './application.ts'
import { asOf, emptyState, facts, liveControls, name, note, section, time } from './components.ts'
import { diagnosisNote, reasonOf, refusedTable } from './diagnosis.ts'
import { field, select, textsIn } from './forms.ts'
import { type Details, isAnySet, type List, listed, listPage, numberIn, type Opener, PAGE_SIZE } from './list.ts'
import { RANGE_NAMES, rangeControl, rangeIn } from './range.ts'

const FILTERS = [...REFUSAL_FILTERS, ...RANGE_NAMES] as const

type Asked = Awaited<ReturnType<typeof askedFor>>

const LIST: List<Asked, RefusedRequest> = {
  path: '/refusals',
  noun: 'refusal',
  title: 'Refusals',
  lead: 'Requests and token checks that were refused or failed, newest first, of all nodes. They show up within five seconds; the last 5,000 of registered clients and 5,000 of others are kept.',
  caption: 'Refusals, newest first',
  columns: [
    { label: 'When and request id', kind: 'line' },
    { label: 'Reason', kind: 'line' },
    'Client',
    'Endpoint',
    'Address',
  ],
  cells: row,
  details: requestDetails,
  pages: 'before',
  views: ['reason', 'counted'],
  ask: ({ searchRefusedRequests }, request, now) => askedFor(searchRefusedRequests, request, now),
  async read({ searchRefusedRequests }, { query }, { after, limit }) {
    const { requests, next } = await searchRefusedRequests({ ...query, before: numberIn(after), limit })
    return { rows: requests, next }
  },
  form: {
    button: 'Filter',
    kept: ['reason'],
    inputs: async (asked, _, administration) => inputs(asked, await listChoices(administration)),
  },
  empty: (_, { isNew }) =>
    isNew
      ? emptyState('No refusals', html`<p>Nothing was refused in the last 30 days.</p>`)
      : emptyState('No matches', html`<p><a href="/refusals">All refusals</a></p>`),
  file: { list: 'refusals', schema: REFUSED_REQUEST, view: (request) => view(REFUSED_REQUEST, request) },
}

/** /refusals: refused requests one by one, newest first; with those of one request id, and why, beside them. */
export function refusalPages(console: FastifyInstance, context: AdminContext): void {
  listPage(console, context, {
    ...LIST,
    async read(administration, asked, page) {
      const { search, reason: _, ...others } = asked.query
      // Names are not compared by the database.
      const isCounted = !page.isFile && search === undefined
      const counts = isCounted && (await administration.countRefusedRequests(others))
      return { ...(await LIST.read(administration, asked, page)), counts: counts ? withAll(counts) : undefined }
    },
    async page({ asked, rows, after, form, summary, links, ...parts }, { listLastRefused }) {
      const { filter, query } = asked
      // Names are compared one by one, which is too expensive for every second.
      const isLive = after === undefined && query.search === undefined
      const isWhole = after === undefined && !isAnySet(filter) && rows.length > 0
      const counted = isWhole && refusedTable(await listLastRefused(), 'None in the last 30 days.')
      const listed = isLive ? live(parts.listed, context.now()) : parts.listed
      return {
        content: html`${form}${summary}${listed}${links}${counted && section('counted', 'By client, suite and reason', counted)}`,
        ...(isLive && {
          scripts: ['live.js'],
          actions: liveControls(address('/refusals', filter), { page: 'refusals', ...filter }),
        }),
      }
    },
  })

  // Its address in 1.0.0.
  console.get<{ Params: { id: string } }>('/requests/:id', ({ params: { id } }, reply) =>
    reply.redirect(address('/refusals', { open: id }), 303),
  )
}

/** How many refusals each reason has, and how many there are. */
function withAll(counts: readonly [reason: string, count: number][]): Record<string, number> {
  return { ...Object.fromEntries(counts), '': counts.reduce((sum, [, count]) => sum + count, 0) }
}

/**
 * The query of a page or a file. Finds the requests of the client with this id, which is stored abbreviated if it is not
 * registered. If there are none, finds those of clients with these words in their id or name.
 */
async function askedFor(search: Administration['searchRefusedRequests'], request: FastifyRequest, now: number) {
  const filter = textsIn(FILTERS, request.query)
  const range = rangeIn(filter, now)
  const { since, until, wrong } = range
  const given = Object.entries(filter).filter(([name, value]) => value !== '' && !(name in range.query))
  const { clientId, ...others } = camelCased<Partial<Record<string, string>>>(Object.fromEntries(given))
  const ids = clientId === undefined ? [] : [clientId, abbreviated(clientId)]
  const known = await Promise.all(ids.map((clientId) => search({ clientId, limit: 1 })))
  const id = ids.find((_, n) => known[n]?.requests.length)
  const client = id === undefined ? { search: clientId } : { clientId: id }
  const query: Omit<RefusalQuery, 'limit'> = { ...others, ...client, since, until }
  return { filter, range, wrong, query }
}

export async function liveRefusals(
  administration: Administration,
  request: FastifyRequest,
  now: number,
): Promise<Html> {
  const asked = await LIST.ask(administration, request, now)
  const { rows } = await LIST.read(administration, asked, { limit: PAGE_SIZE })
  return live(listed(LIST, asked, rows, { isNew: !isAnySet(asked.filter) }), now)
}

function live(list: Html, now: number): Html {
  return html`<div class="panel-part" data-live="refusals">${asOf(now)}${list}</div>`
}

function row(request: RefusedRequest, _: unknown, open: Opener) {
  const { at, requestId, reason, endpoint, suite, remoteAddress } = request
  return [
    html`${open(requestId, time(at, '', true))} <code title="${requestId}">${requestId}</code>`,
    html`<span title="${factsOf(reason)?.words}">${reason}</span>`,
    clientOf(request),
    html`<code>${endpoint}</code>${suite && html` <code>${suite}</code>`}`,
    html`<code>${remoteAddress}</code>`,
  ]
}

/** The end of an abbreviated client id that is as long as a secret. */
const LIKE_SECRET = abbreviated('x'.repeat(SECRET_LENGTH)).slice(4)

/** The client of a request, with a link to where to fix its problem. */
function clientOf({ kind, clientId, name: named, reason, suite }: RefusedRequest): Part {
  if (clientId) {
    if (!kind || !named)
      return html`<span class="code">${clientId}</span><div class="hint">not registered${clientId.endsWith(LIKE_SECRET) && '; as long as a secret: were id and secret swapped?'}</div>`
    return html`<a href="${placeOf(kind, clientId, reason)}">${name(named)}</a>`
  }
  return suite ? 'no known application' : '–'
}

function inputs({ filter, range }: Asked, suites: readonly Suite[]): Html[] {
  const choices = (label: string, named: 'suite' | 'endpoint', values: readonly string[]) => {
    const all = [...new Set(['', filter[named], ...values])].map((value) => ({ value, label: value || 'Any' }))
    return select({ label, name: named, value: filter[named] }, all)
  }
  const suiteIds = suites.map(({ suiteId }) => suiteId)
  return [
    rangeControl('/refusals', range, { filter }),
    field({ label: 'Client', name: 'client_id', value: filter.client_id, placeholder: 'Name, id or part' }),
    choices('Suite', 'suite', suiteIds),
    choices('Endpoint', 'endpoint', ENDPOINTS),
    field({ label: 'Address', name: 'remote_address', value: filter.remote_address, isCode: true }),
  ]
}

/** Where the remedies are, seen from the page of a request. */
const INSTRUCTIONS = {
  resume: () => '“Resume” on its page',
  edit: () => '“Edit” on its page',
  rotate: () => '“Rotate secret” on its page',
  approve: (_: string, suites: readonly string[]) => `approve it for ${suites.join(', ') || 'a suite'} on its page`,
  list: 'the list of applications',
  ofSuite: (_: string, diagnosis: string) => diagnosis,
}

/** What is known of a request id. A caller may use one for several requests. */
async function requestDetails(id: string, { searchRefusedRequests, why }: Administration): Promise<Details> {
  const { requests: found } = await searchRefusedRequests({ requestId: id, limit: PAGE_SIZE })
  if (found.length === 0) return unknownRequest(id)
  const { kind, clientId, name: called, reason } = found.find(({ kind }) => kind) ?? {}
  const others = clientId ? { client_id: clientId } : { remote_address: String(found[0]?.remoteAddress) }
  return {
    heading: html`<span>Request <code>${id}</code></span>`,
    content: html`${found.map(details)}
${kind && clientId ? section('why', html`${name(String(called))} now`, diagnosisNote(await why(clientId, INSTRUCTIONS)), html`<a class="button primary" href="${placeOf(kind, clientId, String(reason))}">Go to the ${kind}</a>`) : found.slice(0, 1).map(answerNote)}
<div class="buttons"><a class="button" href="${address('/refusals', others)}">Other refusals like this</a></div>`,
  }
}

const LABELS = ['When', 'Reason', 'Client', 'Endpoint', 'Address', 'Detail']

function details(request: RefusedRequest): Html {
  const [, ...cells] = row(request, undefined, (_, text) => html`${text}`)
  const [, ...others] = cells
  const values = [time(request.at, '', true), reasonOf(request.reason), ...others, request.detail]
  return html`<div class="panel">${facts(LABELS.map((label, n) => Boolean(values[n]) && [label, values[n]]))}</div>`
}

/** Why a request by an unregistered client was refused, and what to do. */
function answerNote({ reason, clientId }: RefusedRequest): Html {
  const { description = reason, words = description.split(':')[0] } = factsOf(reason) ?? {}
  const check = clientId
    ? 'Compare the client id with that of the application.'
    : 'The log has more: search it for this id.'
  const advice = isTokenReason(reason) ? 'The caller should get a new token, and send the whole of it.' : check
  return note('warn', html`<p><strong>${words}.</strong> ${advice}</p>`)
}

function unknownRequest(id: string): Details {
  return {
    heading: 'No such refusal',
    content: html`${note('warn', html`<p>None of the refusals that are kept has the request id <code>${id}</code>.</p>`)}
<div class="panel prose"><p>A refusal shows up within five seconds, and the last 5,000 of registered clients and 5,000 of others are kept; in a flood some are left out. Successful requests are not kept. The log has all of them: search it for this id.</p></div>`,
  }
}
