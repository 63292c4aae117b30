import type { FastifyInstance, FastifyRequest } from 'fastify'
import { finderOf } from '../../administration/search.ts'
import { labelTexts } from '../../domain/application.ts'
import { requestIdIn } from '../../domain/request-id.ts'
import { address, type Html, html, path } from '../../web/html.ts'
import type { AdminContext } from '../context.ts'
import { administrationOf } from '../wire/caller.ts'
import { emptyState, name, section } from './components.ts'
import { whyRefused } from './diagnosis.ts'
import { fieldsOf } from './forms.ts'
import { showPage } from './layout.ts'

/** How many of each kind are shown. */
const SHOWN = 10

/** How many hundreds of the last changes are searched for removed applications. */
const HUNDREDS = 50

interface Hit {
  href: string
  /** Undefined if the id is its name. */
  name?: string | undefined
  id: string
}

interface Group {
  heading: string
  hits: readonly Hit[]
  /** The list of all hits. */
  all?: string
}

/** /search: finds applications (even removed ones), suites, operators and request ids. A single hit is opened at once. */
export function searchPage(console: FastifyInstance, context: AdminContext): void {
  console.get('/search', async (request, reply) => {
    const wanted = fieldsOf(request.query).text('q')
    const found = wanted === '' ? [] : await find(wanted, request)
    const all = found.filter(({ hits }) => hits.length > 0)
    const [hit, another] = all.flatMap(({ hits }) => hits)
    if (hit && !another) return reply.redirect(hit.href, 303)
    return showPage(reply, {
      title: wanted === '' ? 'Search' : `Search: ${wanted}`,
      heading: wanted === '' ? 'Search' : html`<span>Search: ${name(wanted)}</span>`,
      search: wanted,
      content: all.length > 0 ? all.map(groupPanel) : nothingFound(wanted),
    })
  })

  /** What has this text in its id, its name or another field, an exact id first. Request ids are found only in full. */
  async function find(text: string, request: FastifyRequest): Promise<Group[]> {
    const { applications, suites, operators, ...administration } = administrationOf(context, request)
    const found = await applications.search({ text, limit: SHOWN + 1, after: undefined })
    const isPart = finderOf(text)
    const exact = await applications.find(text)
    const others = found.applications.filter(({ clientId }) => clientId !== text)
    const ofApplications = [...(exact ? [exact] : []), ...others].map(({ clientId: id, name }) => ({
      href: path`/applications/${id}`,
      id,
      name,
    }))
    const ofSuites = (await suites.list())
      .filter(({ suiteId, name, labels, note }) => isPart(suiteId, name, ...labelTexts(labels), note))
      .map(({ suiteId: id, name }) => ({ href: path`/suites/${id}`, id, name }))
    const ofOperators = (await operators.list())
      .filter(({ name, email }) => isPart(name, email ?? ''))
      .map(({ name: id, email }) => ({ href: path`/operators#operator-${id}`, id, name: email ?? undefined }))
    const { requests } = await administration.searchRefusedRequests({ requestId: requestIdIn(text), limit: 1 })
    const removals = await administration.listRemovals(HUNDREDS)
    const removed = removals.filter(({ clientId, name }) => isPart(clientId, name))
    const isExact = ({ id }: Hit) => Number(id === text)
    return [
      { heading: 'Applications', hits: ofApplications, all: address('/applications', { search: text }) },
      { heading: 'Suites', hits: ofSuites.sort((one, other) => isExact(other) - isExact(one)), all: '/suites' },
      { heading: 'Operators', hits: ofOperators, all: '/operators' },
      {
        heading: 'Removed',
        hits: removed.map(({ clientId: id, name }) => ({ href: path`/applications/${id}`, id, name })),
        all: address('/audit', { action: 'application removed' }),
      },
      {
        heading: 'Requests',
        hits: requests.map(({ requestId: id }) => ({ href: path`/requests/${id}`, id })),
      },
    ]
  }
}

function groupPanel({ heading, hits, all }: Group): Html {
  const links = hits
    .slice(0, SHOWN)
    .map(
      ({ href, id, name: named }) =>
        html`<li><a href="${href}">${name(named ?? id)}</a>${named !== undefined && html` <code title="${id}">${id}</code>`}</li>`,
    )
  const id = `found-${heading.toLowerCase()}`
  const more = hits.length > SHOWN && html`<a href="${all}">All that match</a>`
  return section(id, heading, html`<ul class="hits">${links}</ul>`, more)
}

function nothingFound(wanted: string): Html {
  if (wanted === '')
    return emptyState(
      'Find anything',
      html`<p>Finds applications (by name, client id, email, label or note), suites, operators, and refusals by request id.</p>`,
    )
  return emptyState(
    'No matches',
    html`<p>No application, suite, operator or refused request matches “${name(wanted)}”. A refusal shows up within 5 seconds, and the last 5,000 of registered clients and 5,000 of others are kept; a request that succeeded is not kept.</p>
${whyRefused(wanted)}`,
  )
}
