import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { RegisteredApplication } from '../../administration/applications.ts'
import type { ListedApplication } from '../../administration/search.ts'
import { APPLICATION_COLUMNS, type Application, type ApplicationValues } from '../../domain/application.ts'
import { inSteps } from '../../domain/in-steps.ts'
import type { Suite } from '../../domain/suite.ts'
import type { AdminContext } from '../context.ts'
import { administrationOf } from '../wire/caller.ts'
import { listChoices, PARENT, suiteChoices } from './application.ts'
import {
  age,
  badge,
  emptyState,
  labelLinks,
  name,
  note,
  number,
  pager,
  sentence,
  statusBadge,
  table,
} from './components.ts'
import { LOOKED_AT } from './diagnosis.ts'
import { canChange, field, fieldsOf, select } from './forms.ts'
import { address, type Html, html, path } from './html.ts'
import { type Page, showPage } from './layout.ts'
import { changesIn, optionalInputs, registrationForm } from './owner.ts'
import { credentialsPage, tryIt, urlsOf } from './secrets.ts'

const PAGE_SIZE = 50

/** How many of the applications that were refused last are looked at. */
const MAX_REFUSED = 100

const STATUSES: readonly Application['status'][] = ['active', 'suspended']

const ANY = { value: '', label: 'Any' }

const STATUS_CHOICES = [ANY, ...[...STATUSES, 'failing'].map((value) => ({ value, label: sentence(value) }))]

const SORT_CHOICES = [
  { value: '', label: 'Newest first' },
  { value: 'name', label: 'Name' },
]

const COLUMNS = [
  'Application',
  'Developer',
  'Status',
  'Approved suites',
  { label: 'Last token', kind: 'line' },
] as const

const REGISTER = html`<a class="button primary" href="/new-application">Register an application</a>`

/** What is searched for, by the names in the URL; empty: anything. */
type Filter = Record<'search' | 'status' | 'suite' | 'label' | 'sort', string>

/** /applications: the list, with search. */
export function listApplications(console: FastifyInstance, context: AdminContext): void {
  console.get('/applications', async (request, reply) => {
    const { text } = fieldsOf(request.query)
    const [label, suite] = [text('label'), text('suite')]
    const filter = { search: text('search'), status: text('status'), suite, label, sort: text('sort') }
    const from = /^\d{1,9}$/.test(text('from')) ? Number(text('from')) : 0
    const { applications } = administrationOf(context, request)
    const lastRefused = await context.store.listLastRefused(LOOKED_AT)
    const ids = lastRefused.filter(({ kind }) => kind === 'application').map(({ id }) => id)
    const refused = new Set(new Set(ids).values().take(MAX_REFUSED))
    const allFailing = filter.status === 'failing' ? await failingOf(request, refused) : undefined
    const found = await applications.browse({
      text: filter.search,
      status: STATUSES.find((status) => status === filter.status),
      suite: suite || undefined,
      labels: label ? [label] : undefined,
      sort: filter.sort,
      within: allFailing ? [allFailing] : [],
      from,
      limit: PAGE_SIZE,
    })
    const shown = new Set(found.applications.map(({ clientId }) => clientId))
    const failing = allFailing ?? (await failingOf(request, refused.intersection(shown)))
    const now = context.now()
    const rows = found.applications.map((application) => row(application, failing, now))
    const following = address('/applications', { ...filter, from: String(from + PAGE_SIZE) })
    const next = from + PAGE_SIZE < found.total ? following : undefined
    const list = html`<p class="hint">${found.total.toLocaleString('en')} ${found.total === 1 ? 'application' : 'applications'}</p>
${table('Applications', [...COLUMNS, number('Tokens in the last hour (hour before)')], rows)}${pager(from > 0 && address('/applications', filter), next, ['First', 'Next'])}`
    const isFiltered = Object.values(filter).some((value) => value !== '')
    const isEmpty = !isFiltered && found.total === 0
    return showPage(reply, {
      title: 'Applications',
      section: '/applications',
      lead: 'Programs of your partners. Each gets tokens with its client id and a secret.',
      actions: canChange(request) && !isEmpty && REGISTER,
      content: isEmpty
        ? nothingYet(canChange(request))
        : html`${filterForm(filter, isFiltered, await listChoices(context))}${rows.length > 0 ? list : nothingFound(filter.search)}`,
    })
  })

  /** Those of these applications that are refused now, as their pages say. */
  async function failingOf(request: FastifyRequest, clientIds: Iterable<string>): Promise<Set<string>> {
    const failing = new Set<string>()
    const { why } = administrationOf(context, request)
    const look = async (clientId: string) => {
      const { application, health } = await why(clientId)
      if (application?.status === 'active' && health === 'wrong') failing.add(clientId)
    }
    await inSteps(clientIds, async ([clientId = '']) => look(clientId), 1)
    return failing
  }
}

function nothingYet(canChange: boolean): Html {
  return emptyState(
    'No application is registered yet',
    html`<p>Register one for each partner’s program. It gets a client id and a secret, and asks for tokens with them.</p>${canChange && html`<p>${REGISTER}</p>`}`,
  )
}

function filterForm(
  { search, status, suite, label, sort }: Filter,
  isFiltered: boolean,
  suites: readonly Suite[],
): Html {
  const named = suites.map(({ suiteId, name }) => ({ value: suiteId, label: name }))
  return html`<form class="filters" method="get" action="/applications" role="search">
${field({ label: 'Search', name: 'search', type: 'search', value: search, placeholder: 'Name, client id, email or label' })}
${select({ label: 'Status', name: 'status', value: status }, STATUS_CHOICES)}
${select({ label: 'Approved for', name: 'suite', value: suite }, [ANY, ...named])}
${field({ label: 'Label', name: 'label', value: label, placeholder: 'owner=web' })}
${select({ label: 'Sort by', name: 'sort', value: sort }, SORT_CHOICES)}
<div class="buttons"><button class="button">Search</button>${isFiltered && html`<a class="button" href="/applications">Clear</a>`}</div>
</form>`
}

/** Text that may be a client id. If nothing is found, the page links to its diagnosis. */
const CLIENT_ID = /^\S{6,200}$/

function nothingFound(text: string): Html {
  return emptyState(
    'No matches',
    html`<p>No application matches${text !== '' && html`: “${name(text)}” is in no name, no client id, no developer’s email and no label`}.</p>
${CLIENT_ID.test(text) && html`<p>Is this the client id that a partner sends? <a href="${path`/applications/${text}`}">See why it is refused</a>.</p>`}<p><a class="button" href="/applications">Clear the search</a></p>`,
  )
}

function row(application: ListedApplication, failing: ReadonlySet<string>, now: number) {
  const { clientId, status, suites, lastTokenAt, tokensThisHour, tokensLastHour } = application
  return [
    html`<a href="${path`/applications/${clientId}`}">${name(application.name)}</a><code title="${clientId}">${clientId}</code>${labelLinks(application.labels, '/applications')}`,
    name(application.developerEmail),
    failing.has(clientId) ? badge('failing', 'bad') : statusBadge(status),
    suites.length === 0
      ? badge('none', 'warn')
      : html`<span class="cut" title="${suites.join(', ')}">${suites.join(', ')}</span>`,
    age(lastTokenAt, now),
    `${tokensThisHour.toLocaleString('en')} (${tokensLastHour.toLocaleString('en')})`,
  ]
}

/** The properties of inputs besides their labels. A plain text field needs no entry. */
const INPUTS: Record<string, Pick<Parameters<typeof field>[0], 'type' | 'hint'>> = {
  name: { hint: 'APIs see it as application_name when they check its tokens.' },
  developer_email: { type: 'email', hint: 'Whom to contact. APIs see it as developer.email.' },
}

const OPTIONAL = ['labels', 'note', 'quota']

/** /new-application: the form that registers an application. */
export function newApplication(console: FastifyInstance, context: AdminContext): void {
  const { publicUrl } = urlsOf(context)

  registrationForm(console, {
    path: '/new-application',
    parent: PARENT,
    title: 'Register an application',
    lead: 'Register each program of a partner as an application. It gets a client id and a secret, which is shown once.',
    errorsAt: { conflict: 'client_id', suites: 'suite' },
    first: 'name',
    inputs: async ({ body }, stateOf) => {
      const { text, all } = fieldsOf(body)
      const suites = await listChoices(context)
      const clientId = text('client_id')
      return html`${APPLICATION_COLUMNS.map((name) => html`${field({ ...INPUTS[name], label: sentence(name), name, value: text(name), required: true, ...stateOf(name) })}\n`)}${
        suites.length === 0
          ? html`<p class="hint">There are no suites yet. You can approve it for suites later.</p>`
          : suiteChoices(suites, all('suite'), stateOf('suite'))
      }
<details${clientId !== '' && html` open`}><summary>Use an existing client id</summary>
${field({ label: 'Client id', name: 'client_id', value: clientId, isCode: true, hint: 'The one that it has on another server. The secret is new in any case.', ...stateOf('client_id') })}</details>
${optionalInputs(OPTIONAL, body, stateOf)}`
    },
    register: async (request, repeatable) => {
      const { text, all } = fieldsOf(request.body)
      const values = Object.fromEntries([...APPLICATION_COLUMNS, ...OPTIONAL].map((name) => [name, text(name)]))
      const wanted = {
        ...(changesIn(values) as unknown as ApplicationValues),
        suites: all('suite'),
        clientId: text('client_id') || undefined,
      }
      return registeredPage(
        await administrationOf(context, request).applications.register(wanted, repeatable),
        publicUrl,
      )
    },
  })
}

/** Shows the credentials of a new application, once. `publicUrl`: the URL at which clients reach this server. */
function registeredPage(
  { clientId, clientSecret = '', name: named, suites }: RegisteredApplication & { suites: readonly string[] },
  publicUrl: string,
): Page {
  return credentialsPage({
    title: `${named} is registered`,
    heading: html`${name(named)} is registered`,
    section: '/applications',
    trail: [PARENT],
    clientId,
    clientSecret,
    advice: 'Send both to the developer in a safe way. If the secret is lost, rotate it to get a new one.',
    content: html`${suites.length === 0 && note('warn', html`<p>It is not approved for any suite yet, so its tokens are not valid anywhere.</p>`)}
${tryIt({ clientId, clientSecret, suites, publicUrl })}
<div class="buttons"><a class="button primary" href="${path`/applications/${clientId}`}">Go to the application</a><a class="button" href="/new-application">Register another one</a></div>`,
  })
}
