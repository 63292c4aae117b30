import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Administration } from '../../administration/administration.ts'
import { EXPORT_STEPS } from '../../administration/audit-trail.ts'
import { distanceTo, finderOf, nearFinderOf } from '../../administration/search.ts'
import type { BrowsedSecret } from '../../administration/secrets.ts'
import { type Application, labelTexts } from '../../domain/application.ts'
import { AUDIT_ACTIONS } from '../../domain/events.ts'
import { readableName } from '../../domain/operator.ts'
import { requestIdIn } from '../../domain/request-id.ts'
import { address, type Html, html, path } from '../../web/html.ts'
import type { AdminContext } from '../context.ts'
import { administrationOf } from '../wire/caller.ts'
import { emptyState, name, section, sentence } from './components.ts'
import { whyRefused } from './diagnosis.ts'
import { canChange, fieldsOf } from './forms.ts'
import { SECTIONS, showPage } from './layout.ts'

const APPLICATIONS = 'Applications'

/** How many of each kind are shown. */
const SHOWN = 10

/** The length of the shortest beginning of a request id that is searched for. */
const BEGINNING = 8

interface Hit {
  href: string
  /** Undefined if the id is its name. */
  name?: string | undefined
  id: string
  /** Where words are found, besides its id and its name. */
  texts?: readonly string[]
}

interface Group {
  heading: string
  hits: readonly Hit[]
  /** The list of all hits, or the whole list. */
  all?: string | undefined
}

/** `isNear`: nothing has the words, and these are spelt almost like them. */
interface Found {
  groups: readonly Group[]
  isNear: boolean
}

/** /search: finds what has words or an id. A single hit is opened at once. /palette: the hits alone, which find.js shows. */
export function searchPage(console: FastifyInstance, context: AdminContext): void {
  console.get('/search', async (request, reply) => {
    const wanted = fieldsOf(request.query).text('q')
    const found = await find(wanted, request)
    const hit = onlyHit(found)
    if (wanted !== '' && hit) return reply.redirect(hit.href, 303)
    return showPage(reply, {
      title: wanted === '' ? 'Search' : `Search: ${wanted}`,
      heading: wanted === '' ? 'Search' : html`<span>Search: ${name(wanted)}</span>`,
      search: wanted,
      content: hitList('found', wanted, found),
    })
  })

  console.get('/palette', async (request, reply) => {
    const wanted = fieldsOf(request.query).text('q')
    const hits = hitList('palette', wanted, await find(wanted, request))
    return reply.type('text/html; charset=utf-8').send(html`<!doctype html><div data-found>${hits}</div>`.text)
  })

  async function find(text: string, request: FastifyRequest): Promise<Found> {
    const administration = administrationOf(context, request)
    const isAdmin = canChange(request)
    const pages = { heading: 'Pages', hits: isAdmin ? [...PAGES, ...ADMIN_PAGES] : PAGES }
    if (text === '') return { groups: [pages], isNear: false }
    const listed = [...(await listAll(administration)), pages]
    const ofId = await withId(text, administration)
    const actions = isAdmin ? actionsIn(text) : []
    const matching = address('/applications', { search: text })
    const distance = distanceTo(text)
    const distanceOf = ({ id, name = id }: Hit) => distance(id, name)
    for (const finder of [finderOf, nearFinderOf]) {
      const isPart = finder(text)
      const matches = ({ id, name = '', texts = [] }: Hit) => isPart(id, name, ...texts)
      const found = listed.map((group) => {
        const hits = group.hits.filter(matches).sort((one, other) => distanceOf(one) - distanceOf(other))
        return { ...group, hits }
      })
      const searches = [{ text }, ...actions].map((search) => ({ ...search, finder }))
      const [named = [], ...meant] = await administration.applications.closest(searches, SHOWN + 1)
      const all = [
        // The list does not find what is spelt almost so.
        { heading: APPLICATIONS, hits: named.map(applicationHit), all: finder === finderOf ? matching : undefined },
        ...found,
        ...ofId,
        { heading: 'Actions', hits: meant.flatMap((names, n) => actionHits(actions[n] as Action, names)) },
      ]
      const groups = all.filter(({ hits }) => hits.length > 0).sort((one, other) => isPlace(one) - isPlace(other))
      if (groups.length > 0) return { groups, isNear: finder === nearFinderOf }
    }
    return { groups: [], isNear: false }
  }
}

const PAGES: readonly Hit[] = [...SECTIONS.map(([href, id]) => ({ href, id })), { href: '/docs', id: 'Documents' }]
const ADMIN_PAGES: readonly Hit[] = [
  { href: '/new-application', id: 'Register an application' },
  { href: '/new-suite', id: 'Register a suite' },
]

/** 1 if the hits lead to pages rather than to something that exists or happened. */
const isPlace = ({ heading }: Group) => Number(['Audit', 'Actions', 'Pages'].includes(heading))

/** The only hit, or the only one besides places. Undefined if it is only spelt almost like the words. */
function onlyHit({ groups, isNear }: Found): Hit | undefined {
  const things = groups.filter((group) => !isPlace(group))
  const [hit, another] = (things.length > 0 ? things : groups).flatMap(({ hits }) => hits)
  return isNear || another ? undefined : hit
}

/** What there is not too much of to compare with words here. */
async function listAll({ suites, operators, secrets, listRemovals }: Administration): Promise<Group[]> {
  const ofSuites = (await suites.list()).map(({ suiteId: id, name, labels, note }) => {
    return { href: path`/suites/${id}`, id, name, texts: [...labelTexts(labels), note] }
  })
  const ofOperators = (await operators.list()).map(({ name: id, email }) => {
    const name = email === null ? undefined : readableName({ name: id, email })
    return { href: path`/operators#operator-${id}`, id, name }
  })
  const isActive = ({ state }: BrowsedSecret) => state === 'active'
  const federated = (await Array.fromAsync(secrets.pages(isActive, { federated: true }))).flat()
  const credentials = federated.map(({ id, federated }) => {
    return { href: `/secrets?open=${id}`, id: String(federated?.subject) }
  })
  const removed = (await listRemovals()).map(applicationHit)
  const actions = AUDIT_ACTIONS.map((action) => ({ href: address('/audit', { action }), id: sentence(action) }))
  return [
    { heading: 'Suites', hits: ofSuites, all: '/suites' },
    { heading: 'Operators', hits: ofOperators, all: '/operators' },
    { heading: 'Credentials', hits: credentials, all: '/secrets' },
    { heading: 'Removed', hits: removed, all: address('/audit', { action: 'application removed' }) },
    { heading: 'Audit', hits: actions, all: '/audit' },
  ]
}

type Named = Pick<Application, 'clientId' | 'name'>

function applicationHit({ clientId: id, name }: Named): Hit {
  return { href: path`/applications/${id}`, id, name }
}

/** Refused requests whose ids begin so, the last changes of requests whose ids contain it, both in any case, and a secret. */
async function withId(text: string, { secrets, ...trail }: Administration): Promise<Group[]> {
  const requestId = requestIdIn(text)
  const wanted = requestId.length < BEGINNING ? { requestId } : { requestIdBeginning: requestId }
  const { requests } = await trail.searchRefusedRequests({ ...wanted, limit: SHOWN })
  const refused = [...new Set(requests.map((request) => request.requestId))]
  const { events } = await trail.searchAuditEvents({ requestId, limit: 1 })
  if (events.length === 0 && requestId.length >= BEGINNING)
    events.push(
      ...(await trail.searchAuditEvents({ requestIdPart: requestId, grouped: true, limit: SHOWN }, EXPORT_STEPS))
        .events,
    )
  const [, number] = /^(?:secret|credential) ?(\d{1,15})$/i.exec(text) ?? []
  const secret = number && (await secrets.find(Number(number)))
  return [
    { heading: 'Requests', hits: refused.map((id) => ({ href: address('/refusals', { open: id }), id })) },
    {
      heading: 'Changes',
      hits: events.map(({ id, requestId }) => ({ href: `/audit?open=${id}`, id: String(requestId) })),
    },
    { heading: 'Secrets', hits: secret ? [{ href: `/secrets?open=${number}`, id: text, name: secret.name }] : [] },
  ]
}

/** What can be done with an application: in words, and where, below its page; with which status. */
const ACTIONS = [
  ['Rotate secret of …', '#rotate', undefined],
  ['Approve … for a suite', '/edit#approvals', undefined],
  ['Suspend …', '#suspend', 'active'],
  ['Resume …', '', 'suspended'],
  ['Edit …', '/edit', undefined],
  ['Remove …', '/remove', undefined],
] as const

/** What a text such as `rotate secret of acme` asks for, with the text that names the applications. */
function actionsIn(text: string) {
  const words = (text.toLowerCase().split(' for ')[0] as string).split(/\s+/)
  return ACTIONS.flatMap(([label, place, status]) => {
    const said = label.toLowerCase().split(' ')
    const isMeant = words.some((word) => word.length > 2 && said[0]?.startsWith(word))
    const named = words.filter((word) => !said.some((one) => one.startsWith(word))).join(' ')
    return isMeant && named !== '' ? [{ label, place, status, text: named }] : []
  })
}

type Action = ReturnType<typeof actionsIn>[number]

/** The forms for these applications. */
function actionHits({ label, place }: Action, named: readonly Named[]): Hit[] {
  return named.slice(0, SHOWN).map(({ clientId: id, name }) => {
    return { href: path`/applications/${id}` + place, id, name: label.replace('…', () => name) }
  })
}

/** `prefix` begins the ids: the palette may be on the search page. */
function hitList(prefix: 'found' | 'palette', wanted: string, { groups, isNear }: Found): Html {
  const hint = isNear && html`<p class="hint">Nothing has exactly these words. These are spelt almost like them:</p>`
  return html`${hint}${groups.map((group) => groupPanel(prefix, group))}${(wanted === '' || groups.length === 0) && nothingFound(wanted)}`
}

function groupPanel(prefix: string, { heading, hits, all }: Group): Html {
  const shown = all === undefined ? hits : hits.slice(0, SHOWN)
  const links = shown.map(
    ({ href, id, name: named }) =>
      html`<li><a href="${href}">${name(named ?? id)}${named !== undefined && html` <code title="${id}">${id}</code>`}</a></li>`,
  )
  const id = `${prefix}-${heading.toLowerCase()}`
  const label = heading === APPLICATIONS ? 'All that match' : 'The whole list'
  const more = shown.length < hits.length && html`<li><a href="${all}">${label}</a></li>`
  return section(id, heading, html`<ul class="hits">${links}${more}</ul>`)
}

const FINDS = html`<p>Finds applications (by name, client id, email, label or note), suites, operators, refusals and changes by request id, secrets (“secret 7”), federated credentials by subject, pages, and what can be done (“rotate secret of …”).</p>`

function nothingFound(wanted: string): Html {
  if (wanted === '') return emptyState('Find anything', FINDS)
  return emptyState(
    'No matches',
    html`<p>Nothing matches “${name(wanted)}”.</p>${FINDS}
<p>A refusal shows up within 5 seconds, and the last 5,000 of registered clients and 5,000 of others are kept; a request that succeeded is not kept.</p>
${whyRefused(wanted)}`,
  )
}
