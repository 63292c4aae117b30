import type { FastifyInstance } from 'fastify'
import { type ListedSuite, MANY_APPROVED, type RegisteredSuite } from '../../administration/suites.ts'
import { suiteView } from '../../administration/views.ts'
import { SUITE } from '../../views/suite.ts'
import type { About, AdminContext } from '../context.ts'
import { administrationOf } from '../wire/caller.ts'
import { badge, emptyState, labelLinks, name, note, number, section, time } from './components.ts'
import { field, fieldsOf, textsIn } from './forms.ts'
import { address, type Html, html, path } from './html.ts'
import type { Page } from './layout.ts'
import { listPage } from './list.ts'
import { changesIn, optionalInputs, registrationForm } from './owner.ts'
import { credentialsPage, howToCheckTokens } from './secrets.ts'
import { PARENT } from './suite.ts'

const COLUMNS = ['Suite', 'Id', 'Secrets', 'Registered', number('Approved applications')] as const

const REGISTER = html`<a class="button primary" href="/new-suite">Register a suite</a>`

/** /suites: the list, oldest first. */
export function listSuites(console: FastifyInstance, context: AdminContext): void {
  listPage(console, context, {
    path: '/suites',
    noun: 'suite',
    title: 'Suites',
    lead: 'APIs that check tokens, by themselves or through a gateway. A token is valid only at the suites that its application is approved for.',
    register: REGISTER,
    caption: 'Suites, oldest first',
    columns: COLUMNS,
    cells: row,
    pages: ['after', 'Oldest', 'Newer'],
    ask: async (_, { query }) => ({ filter: textsIn(['label'], query) }),
    async read({ suites }, { filter: { label } }, { after, limit }) {
      const found = await suites.listPage({ after, limit, labels: label ? [label] : undefined })
      return { ...found, total: after || found.next ? undefined : found.rows.length }
    },
    empty: (_, { isNew, canChange }) => (isNew ? nothingYet(canChange) : emptyState('No suite has this label', '')),
    file: { list: 'suites', schema: SUITE, view: suiteView },
    async page({ asked: { filter }, summary, listed, links }) {
      const { label } = filter
      const all = label !== '' && html`Those with the label <code>${label}</code> · <a href="/suites">All suites</a> · `
      return { content: html`<p class="hint">${all}${summary}</p>${listed}${links}` }
    },
  })
}

function nothingYet(canChange = false): Html {
  return emptyState(
    'There are no suites yet',
    html`<p>A suite is an API that checks tokens. As long as there are none, the tokens of every application are valid wherever they are checked.</p>${canChange && html`<p>${REGISTER}</p>`}`,
  )
}

function row({ suiteId, name: named, labels, secrets, createdAt, approved }: ListedSuite) {
  return [
    html`<a href="${path`/suites/${suiteId}`}">${name(named)}</a>${labelLinks(labels, '/suites')}`,
    html`<code title="${suiteId}">${suiteId}</code>`,
    secretsOf(secrets),
    time(createdAt),
    `${approved.toLocaleString('en')}${approved === MANY_APPROVED ? ' or more' : ''}`,
  ]
}

function secretsOf(secrets: ListedSuite['secrets']): Html {
  const active = secrets.filter(({ state }) => state === 'active')
  if (active.length === 0) return badge('none active', 'bad')
  const endless = active.some(({ endsAt }) => endsAt === null)
  return endless ? badge(`${active.length} active`, 'good') : badge(`${active.length} active, ends`, 'warn')
}

/** /new-suite: the form that registers a suite. */
export function newSuite(console: FastifyInstance, context: AdminContext): void {
  registrationForm(console, {
    path: '/new-suite',
    parent: PARENT,
    title: 'Register a suite',
    lead: 'A suite is an API that checks tokens, by itself or through a gateway. It gets a secret, which is shown once.',
    errorsAt: { 'taken id': 'suite_id', id: 'suite_id' },
    first: 'suite_id',
    inputs: ({ body }, stateOf) => {
      const { text } = fieldsOf(body)
      return html`${field({ label: 'Id', name: 'suite_id', value: text('suite_id'), isCode: true, required: true, hint: 'Part of the address at which gateways check tokens. Letters, digits and - . _ ~ only. It cannot be changed later.', ...stateOf('suite_id') })}
${field({ label: 'Name', name: 'name', value: text('name'), required: true, ...stateOf('name') })}
${optionalInputs(['labels', 'note'], body, stateOf)}`
    },
    register: async (request, repeatable) => {
      const { text } = fieldsOf(request.body)
      const annotations = changesIn({ labels: text('labels'), note: text('note') })
      const wanted = { suiteId: text('suite_id'), name: text('name'), ...annotations }
      const registered = await administrationOf(context, request).suites.register(wanted, repeatable)
      return registeredPage(registered, context.about.urls)
    },
  })
}

/** Shows the credentials of a new suite, once. `notApproved` is the number of applications, none of which is approved yet. */
function registeredPage(suite: RegisteredSuite & { notApproved: number }, urls: About['urls']): Page {
  const { suiteId, clientSecret, notApproved } = suite
  return credentialsPage({
    title: `${suite.name} is registered`,
    heading: html`<span>${name(suite.name)} is registered</span>`,
    section: '/suites',
    trail: [PARENT],
    clientId: suiteId,
    clientSecret,
    advice: 'It is needed for introspection, not for the gateway check.',
    content: html`${notApproved > 0 && note('warn', html`<p>No application is approved for it yet (there ${notApproved === 1 ? 'is 1' : `are ${notApproved.toLocaleString('en')}`}). <a href="${address('/applications', { for: suiteId })}">Approve those that may use it</a>.</p>`)}
${section('gateway', 'How tokens are checked', howToCheckTokens({ suiteId, clientSecret, ...urls }))}
<div class="buttons"><a class="button primary" href="${path`/suites/${suiteId}`}">Go to the suite</a></div>`,
  })
}
