import type { FastifyInstance } from 'fastify'
import type { RegisteredApplication } from '../../administration/applications.ts'
import type { ListedApplication } from '../../administration/search.ts'
import { APPLICATION_COLUMNS, type Application, type ApplicationValues } from '../../domain/application.ts'
import { camelCased } from '../../domain/schema.ts'
import type { AdminContext } from '../context.ts'
import { administrationOf } from '../wire/caller.ts'
import { listChoices, PARENT, suiteChoices } from './application.ts'
import {
  age,
  badge,
  clientIdOf,
  developerOf,
  emptyState,
  name,
  note,
  number,
  pager,
  sentence,
  statusBadge,
  table,
} from './components.ts'
import { canChange, field, fieldsOf, select } from './forms.ts'
import { type Html, html, path } from './html.ts'
import { type Page, showPage } from './layout.ts'
import { registrationForm } from './owner.ts'
import { credentialsPage, tryIt, urlsOf } from './secrets.ts'

const PAGE_SIZE = 50

const STATUSES: readonly Application['status'][] = ['active', 'suspended']

const COLUMNS = [
  'Application',
  'Developer',
  'Status',
  'Approved suites',
  { label: 'Last token', kind: 'line' },
  number('Tokens this hour'),
] as const

const REGISTER = html`<a class="button primary" href="/new-application">Register an application</a>`

interface Filter {
  text: string
  status: Application['status'] | undefined
}

/** /applications: the list, newest first, with search. */
export function listApplications(console: FastifyInstance, context: AdminContext): void {
  console.get('/applications', async (request, reply) => {
    const query = fieldsOf(request.query)
    const text = query.text('search')
    const filter = { text, status: STATUSES.find((status) => status === query.text('status')) }
    const after = query.text('after') || undefined
    const found = await administrationOf(context, request).applications.search({ ...filter, after, limit: PAGE_SIZE })
    const now = context.now()
    const rows = found.applications.map((application) => row(application, now))
    const pages = pager(after && addressOf(filter), found.next && addressOf(filter, found.next))
    const list = html`${table('Applications, newest first', COLUMNS, rows)}${pages}`
    const isFiltered = text !== '' || filter.status !== undefined
    const isEmpty = !isFiltered && after === undefined && rows.length === 0
    return showPage(reply, {
      title: 'Applications',
      section: '/applications',
      lead: 'Programs of your partners. Each gets tokens with its client id and a secret.',
      actions: canChange(request) && !isEmpty && REGISTER,
      content: isEmpty
        ? nothingYet(canChange(request))
        : html`${filterForm(filter, isFiltered)}${rows.length > 0 ? list : nothingFound(filter)}`,
    })
  })
}

function nothingYet(canChange: boolean): Html {
  return emptyState(
    'No application is registered yet',
    html`<p>Register one for each partner’s program. It gets a client id and a secret, and asks for tokens with them.</p>${canChange && html`<p>${REGISTER}</p>`}`,
  )
}

function filterForm({ text, status }: Filter, isFiltered: boolean): Html {
  const choices = [{ value: '', label: 'Any' }, ...STATUSES.map((value) => ({ value, label: sentence(value) }))]
  return html`<form class="filters" method="get" action="/applications" role="search">
${field({ label: 'Search', name: 'search', type: 'search', value: text, placeholder: 'Name, client id or developer email' })}
${select({ label: 'Status', name: 'status', value: status ?? '' }, choices)}
<div class="buttons"><button class="button">Search</button>${isFiltered && html`<a class="button" href="/applications">Clear</a>`}</div>
</form>`
}

/** Text that may be a client id. If nothing is found, the page links to its diagnosis. */
const CLIENT_ID = /^\S{6,200}$/

function nothingFound({ text, status }: Filter): Html {
  const clear = html`<p><a class="button" href="/applications">Clear the search</a></p>`
  if (text === '') return emptyState('No matches', html`<p>No application is ${status}.</p>${clear}`)
  return emptyState(
    'No matches',
    html`<p>No application${status && html` that is ${status}`} has “${name(text)}” in its name, its client id or its developer’s email.</p>
${CLIENT_ID.test(text) && html`<p>Is this the client id that a partner sends? <a href="${path`/applications/${text}`}">See why it is refused</a>.</p>`}${clear}`,
  )
}

function row(application: ListedApplication, now: number) {
  const { clientId, status, suites, lastTokenAt, tokensThisHour } = application
  return [
    html`<a href="${path`/applications/${clientId}`}">${name(application.name)}</a>${clientIdOf(application)}`,
    developerOf(application),
    statusBadge(status),
    suitesOf(suites),
    age(lastTokenAt, now),
    tokensThisHour.toLocaleString('en'),
  ]
}

const MAX_NAMED = 2

/** The approved suites of an application: the first two, and the number of the others. */
function suitesOf(suites: readonly string[]): Html {
  if (suites.length === 0) return badge('none', 'warn')
  const named = suites.slice(0, MAX_NAMED)
  const others = suites.length - MAX_NAMED
  const more = others > 0 && html` <span class="hint" title="${suites.join(', ')}">+${others}</span>`
  return html`${named.map((suite, at) => html`${at > 0 && ' '}<span class="line"><code>${suite}</code>${at === MAX_NAMED - 1 && more}</span>`)}`
}

function addressOf({ text, status }: Filter, after?: string): string {
  const query = new URLSearchParams({
    ...(text && { search: text }),
    ...(status && { status }),
    ...(after && { after }),
  })
  return query.size === 0 ? '/applications' : `/applications?${query}`
}

/** The properties of inputs besides their labels. A plain text field needs no entry. */
const INPUTS: Record<string, Pick<Parameters<typeof field>[0], 'type' | 'hint'>> = {
  name: { hint: 'APIs see it as application_name when they check its tokens.' },
  developer_email: { type: 'email', hint: 'Whom to contact. APIs see it as developer.email.' },
}

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
${field({ label: 'Client id', name: 'client_id', value: clientId, isCode: true, hint: 'The one that it has on another server. The secret is new in any case.', ...stateOf('client_id') })}</details>`
    },
    register: async (request, repeatable) => {
      const { text, all } = fieldsOf(request.body)
      const values = Object.fromEntries(APPLICATION_COLUMNS.map((name) => [name, text(name)]))
      const wanted = {
        ...camelCased<ApplicationValues>(values),
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
