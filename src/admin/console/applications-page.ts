import type { ListedApplication, SearchResult } from '../../administration/search.ts'
import type { Application } from '../../domain/application.ts'
import { field, select } from './components/forms.ts'
import { clientIdOf, developerOf, statusBadge, suitesOf } from './components/names.ts'
import { pager, table } from './components/table.ts'
import { age, emptyState, name } from './components/words.ts'
import { type Html, html, path } from './html.ts'
import type { Page } from './layout.ts'

export interface Filter {
  text: string
  status: Application['status'] | undefined
}

interface Applications extends Filter {
  found: SearchResult
  /** Whether this is the first page. */
  isFirst: boolean
  /** Milliseconds since the epoch. */
  now: number
  canChange: boolean
}

/** Text that may be a client id. If nothing is found, the page links to its diagnosis. */
const CLIENT_ID = /^\S{6,200}$/

const COLUMNS = [
  { label: 'Application' },
  { label: 'Developer' },
  { label: 'Status' },
  { label: 'Approved suites' },
  { label: 'Last token', kind: 'line' },
  { label: 'Tokens this hour', kind: 'number' },
] as const

/** The applications, newest first. */
export function applicationsPage(applications: Applications): Page {
  const { text, status, found, isFirst, canChange } = applications
  const isAny = text === '' && status === undefined
  const isEmpty = isAny && isFirst && found.applications.length === 0
  return {
    title: 'Applications',
    section: '/applications',
    lead: 'Programs of your partners. Each gets tokens with its client id and a secret.',
    actions: canChange && !isEmpty && REGISTER,
    content: isEmpty ? nothingYet(canChange) : html`${filters(applications)}${list(applications)}`,
  }
}

const REGISTER = html`<a class="button primary" href="/new-application">Register an application</a>`

function nothingYet(canChange: boolean): Html {
  return emptyState(
    'No application is registered yet',
    html`<p>Register one for each partner’s program. It gets a client id and a secret, and asks for tokens with them.</p>${canChange && html`<p>${REGISTER}</p>`}`,
  )
}

function filters({ text, status }: Applications): Html {
  return html`<form class="filters" method="get" action="/applications" role="search">
${field({ label: 'Search', name: 'search', type: 'search', value: text, placeholder: 'Name, client id or developer email' })}
${select({ label: 'Status', name: 'status', value: status ?? '' }, [
  { value: '', label: 'Any' },
  { value: 'active', label: 'Active' },
  { value: 'suspended', label: 'Suspended' },
])}
<div class="buttons"><button class="button">Search</button>${(text !== '' || status !== undefined) && html`<a class="button" href="/applications">Clear</a>`}</div>
</form>`
}

function list({ found, isFirst, now, ...filter }: Applications): Html {
  const { applications, next } = found
  if (applications.length === 0) return nothingFound(filter)
  return html`${table(
    'Applications, newest first',
    COLUMNS,
    applications.map((application) => row(application, now)),
  )}${pager({
    newest: isFirst ? undefined : addressOf(filter),
    older: next === undefined ? undefined : addressOf(filter, next),
  })}`
}

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

/** The URL of a page of the filtered list. */
function addressOf({ text, status }: Filter, after?: string): string {
  const query = new URLSearchParams({
    ...(text && { search: text }),
    ...(status && { status }),
    ...(after && { after }),
  })
  return query.size === 0 ? '/applications' : `/applications?${query}`
}
