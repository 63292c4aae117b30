import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { RegisteredApplication } from '../../administration/applications.ts'
import { type BrowseQuery, isQuiet, type ListedApplication } from '../../administration/search.ts'
import { LISTED_APPLICATION, listedApplicationView } from '../../administration/views.ts'
import { APPLICATION_COLUMNS, type ApplicationValues } from '../../domain/application.ts'
import { secretState } from '../../domain/secret.ts'
import { MANY_TOKENS } from '../../domain/usage.ts'
import { address, type Html, html, path } from '../../web/html.ts'
import type { AdminContext } from '../context.ts'
import { administrationOf } from '../wire/caller.ts'
import { listChoices, PARENT, suiteChoices } from './application.ts'
import { approvalForm, changeApprovals, headOf } from './approvals.ts'
import { age, badge, emptyState, labelCount, labelLinks, name, note, number, sentence, time } from './components.ts'
import { badges, findTroubled, whyRefused } from './diagnosis.ts'
import { federatedInputs, hasRule, ruleIn } from './federated.ts'
import { canChange, field, fieldsOf, hidden, newRequestKey, select, textsIn } from './forms.ts'
import { listPage, numberIn, PAGE_SIZE } from './list.ts'
import { changesIn, optionalInputs, registrationForm } from './owner.ts'
import { copyable, newCredentials, tryIt } from './secrets.ts'

const ANY = { value: '', label: 'Any' }

const VIEWS = [
  ['', 'All'],
  ['failing', 'Failing', 'Their pages report a problem, and they were refused in the last day.'],
  [
    'heavy',
    'Heavy',
    `More than ${MANY_TOKENS} tokens in the last 60 minutes or the 60 before: they probably ask for one before each call.`,
  ],
  ['quiet', 'Quiet', 'No token in the last 7 days.'],
  [
    'ending',
    'Secret ends',
    'A secret that they used in the last day, or else last, ends within 7 days. After that, requests with it are refused.',
  ],
  ['suspended', 'Suspended', 'They get no tokens, and those that they have are refused.'],
] as const

/** Precedes the id of an excluded suite; ids never begin with it. */
const NOT = '!'

const line = (label: string) => ({ label, kind: 'line' }) as const

const COLUMNS = [
  ...['Application', 'Client id', 'Labels', 'Developer', 'Status', 'Suites'],
  ...[line('Secret ends'), line('Registered'), line('Last token'), number('Tokens/h')],
]

const SHOWN = ['Developer', 'Status', 'Suites', 'Last token', 'Tokens/h']

const SORTS = {
  Application: ['name', 'ascending'],
  'Last token': ['used', 'descending'],
  'Tokens/h': ['tokens', 'descending'],
} as const

const REGISTER = html`<a class="button primary" href="/new-application">Register an application</a>`

/** What is searched for, by the names in the URL; empty text matches anything. `for` is the suite to approve applications for. */
const FILTERS = ['search', 'status', 'suite', 'label', 'sort', 'for'] as const

type Asked = Awaited<ReturnType<typeof askedFor>>

/** /applications: the list, with search, and the form that approves many applications for a suite. */
export function listApplications(console: FastifyInstance, context: AdminContext): void {
  const ask = (request: FastifyRequest) => askedFor(context, request)
  const showList = listPage(console, context, {
    path: '/applications',
    noun: 'application',
    title: 'Applications',
    lead: 'Programs of your partners. Each gets tokens with its client id and a secret.',
    register: REGISTER,
    caption: 'Applications',
    columns: COLUMNS,
    shown: SHOWN,
    views: ['status', VIEWS],
    sorts: SORTS,
    cells: row,
    pages: 'from',
    ask: (_, request) => ask(request),
    async read({ applications }, { query, counts }, { after, limit }) {
      const { applications: rows, total } = await applications.browse({ ...query, from: numberIn(after) ?? 0, limit })
      return { rows, total, counts }
    },
    form: {
      button: 'Search',
      kept: ['status', 'sort', 'for'],
      inputs: async (asked) => inputs(asked),
    },
    empty: (asked, { isNew, canChange }) => (isNew ? nothingYet(canChange) : nothingFound(asked)),
    file: { list: 'applications', schema: LISTED_APPLICATION, view: listedApplicationView },
    readAll: ({ applications }, { query }) => applications.pages(query),
    async page({ asked, after = '', rows, total = 0, form, summary, listed, links }) {
      const { filter, target, canTick } = asked
      const count = total > PAGE_SIZE && total
      const list = canTick && rows.length > 0 ? approvalForm(asked, { ...filter, from: after }, count, listed) : listed
      const content = html`${form}${summary}${list}${links}`
      return { ...(target && headOf(target)), ...(canTick && { scripts: ['ticks.js'] }), content }
    },
  })

  changeApprovals(console, context, {
    async findMatching(request) {
      const { query } = await ask(request)
      return administrationOf(context, request).applications.match(query)
    },
    showList,
  })
}

async function askedFor(context: AdminContext, request: FastifyRequest) {
  const administration = administrationOf(context, request)
  const { suites } = administration
  const troubled = await findTroubled(context, request, 'application')
  const { failing, ending, now, version } = troubled
  const filter = textsIn(FILTERS, request.query)
  const { search: text, status, suite, label, sort } = filter
  const isWhole = `${text}${suite}${label}` === ''
  const states = isWhole || status === 'heavy' ? await context.statistics.readStates(version) : undefined
  const heavy = new Set(states?.heavy)
  const within = status === 'failing' ? failing : status === 'ending' ? ending : status === 'heavy' ? heavy : undefined
  const isWithout = suite.startsWith(NOT)
  const query: BrowseQuery = {
    text,
    sort,
    status: status === 'suspended' ? status : undefined,
    suite: (isWithout ? suite.slice(NOT.length) : suite) || undefined,
    isApproved: isWithout ? 0 : undefined,
    labels: label ? [label] : undefined,
    accepts: status === 'quiet' ? (one) => isQuiet(one, now) : within && (({ clientId }) => within.has(clientId)),
  }
  const known = { ...states, '': states?.all, heavy: states?.heavy.length, failing: failing.size, ending: ending.size }
  const target = filter.for !== '' && canChange(request) ? await suites.show(filter.for) : undefined
  const choices = await listChoices(administration)
  const canTick = canChange(request) && choices.length > 0
  return { filter, query, counts: isWhole ? known : undefined, target, choices, canTick, ...troubled }
}

function nothingYet(canChange = false): Html {
  return emptyState(
    'No application is registered yet',
    html`<p>Register one for each partner’s program. It gets a client id and a secret, and asks for tokens with them.</p>${canChange && html`<p>${REGISTER}</p>`}`,
  )
}

function inputs({ filter, target, choices }: Asked): Html[] {
  const named = choices.map(({ suiteId, name }) => ({ value: suiteId, label: name }))
  const others = target ? [{ value: `${NOT}${target.suiteId}`, label: `Not ${target.name}` }] : []
  const placeholder = 'Name, client id, email, label or note'
  return [
    field({ label: 'Search', name: 'search', type: 'search', value: filter.search, placeholder }),
    select({ label: 'Approved for', name: 'suite', value: filter.suite }, [ANY, ...others, ...named]),
    field({ label: 'Label', name: 'label', value: filter.label, placeholder: 'owner=web' }),
  ]
}

function nothingFound({ filter }: Asked): Html {
  const { search: text, for: target, suite, label } = filter
  if (`${text}${suite}${label}` === '')
    return emptyState('No application matches now', html`<p>There is nothing to do here.</p>`)
  return emptyState(
    'No matches',
    html`<p>No application matches${text !== '' && html`: none has “${name(text)}” in its name, client id, developer’s email, labels or note`}.</p>
${text !== '' && html`<p>This list has no removed applications: <a href="${address('/search', { q: text })}">the search finds them, too</a>.</p>`}${whyRefused(text)}<p><a class="button" href="${address('/applications', { for: target })}">Clear the search</a></p>`,
  )
}

function row(application: ListedApplication, { now, canTick, failing, ending }: Asked) {
  const { clientId, labels, suites, secrets, createdAt, lastTokenAt, tokensThisHour } = application
  const page = path`/applications/${clientId}`
  const active = secrets.filter((secret) => secretState(secret, now) === 'active')
  const ends = active.map(({ endsAt }) => endsAt ?? Infinity)
  const end = ending.get(clientId) ?? Math.max(...ends)
  const box = html`<input type="checkbox" name="client_id" value="${clientId}" aria-label="Tick ${application.name}"> `
  return [
    html`${canTick && box}<a href="${page}">${name(application.name)}</a> <code title="${clientId}">${clientId}</code>${labelCount(labels, page)}`,
    html`<code>${clientId}</code>`,
    labelLinks(labels, '/applications'),
    name(application.developerEmail),
    badges(application, { isFailing: failing.has(clientId), endsSoon: ending.has(clientId), now }),
    suites.length === 0
      ? badge('none', 'warn')
      : html`<span class="cut" title="${suites.join(', ')}">${suites.join(', ')}</span>`,
    time(Number.isFinite(end) ? end : null, ends.length > 0 ? 'never' : 'none'),
    time(createdAt),
    age(lastTokenAt, now),
    tokensThisHour.toLocaleString('en'),
  ]
}

/** The properties of inputs other than their labels. A plain text field needs no entry. */
const INPUTS: Record<string, Pick<Parameters<typeof field>[0], 'type' | 'hint'>> = {
  name: { hint: 'APIs see it as application_name when they check its tokens.' },
  developer_email: { type: 'email', hint: 'Whom to contact. APIs see it as developer.email.' },
}

const OPTIONAL = ['labels', 'note', 'quota', 'source_addresses', 'public_labels', 'report_only']

export function newApplication(console: FastifyInstance, context: AdminContext): void {
  registrationForm(console, {
    path: '/new-application',
    parent: PARENT,
    title: 'Register an application',
    lead: 'Register each program of a partner as an application. It gets a client id and a secret, which is shown once.',
    errorsAt: { 'taken id': 'client_id', suites: 'suite', federated: 'issuer' },
    first: 'name',
    inputs: async (request, stateOf) => {
      const { body } = request
      const { text, all } = fieldsOf(body)
      const suites = await listChoices(administrationOf(context, request))
      const clientId = text('client_id')
      return html`${APPLICATION_COLUMNS.map((name) => html`${field({ ...INPUTS[name], label: sentence(name), name, value: text(name), required: true, ...stateOf(name) })}\n`)}${
        suites.length === 0
          ? html`<p class="hint">There are no suites yet. You can approve it for suites later.</p>`
          : suiteChoices(suites, all('suite'), stateOf('suite'))
      }
<details${hasRule(body) && html` open`}><summary>A workload’s own JWTs instead of a secret</summary>
<div class="form">${federatedInputs(body, stateOf, context.about.urls.publicUrl)}</div></details>
<details${clientId !== '' && html` open`}><summary>Use an existing client id</summary>
${field({ label: 'Client id', name: 'client_id', value: clientId, isCode: true, hint: 'The one that it has on another server. The secret is new in any case.', ...stateOf('client_id') })}</details>
${optionalInputs(OPTIONAL, body, stateOf)}`
    },
    register: async (request, repeatable) => {
      const { text, all } = fieldsOf(request.body)
      const values = textsIn([...APPLICATION_COLUMNS, ...OPTIONAL], request.body)
      const wanted = {
        ...(changesIn(values) as unknown as ApplicationValues),
        suites: all('suite'),
        clientId: text('client_id') || undefined,
        federated: hasRule(request.body) ? [ruleIn(request.body)] : undefined,
      }
      const { applications, handOvers } = administrationOf(context, request)
      const registered = await applications.register(wanted, repeatable)
      const content = credentialsOf(registered, context.about.urls.publicUrl, handOvers.isOn)
      return { named: registered.name, content }
    },
  })
}

/** Shows the credentials of a new application, once. `publicUrl`: the URL at which clients reach this server. */
function credentialsOf(
  { clientId, clientSecret = '', suites }: RegisteredApplication & { suites: readonly string[] },
  publicUrl: string,
  handsOver: boolean,
): Html {
  const base = path`/applications/${clientId}`
  const warning =
    suites.length === 0 &&
    note('warn', html`<p>It is not approved for any suite yet, so its tokens are not valid anywhere.</p>`)
  const leave = html`<a class="button primary" href="${base}">Go to the application</a>`
  const another = html`<a class="button" href="/new-application">Register another one</a>`
  if (clientSecret === '') {
    return html`${copyable('client-id', 'Client id', clientId)}<p>It has no secret: its client sends a JWT of its platform as the client secret.</p>${warning}<div class="buttons">${leave}${another}</div>`
  }
  // The secret shown here ends when the link is used.
  const handOver = html`<form method="post" action="${base}/hand-over-links">${hidden({ request_key: newRequestKey(), overlap: '0' })}<button class="button">Make a hand-over link instead</button></form>`
  const advice = 'Send both to the developer in a safe way. If the secret is lost, rotate it to get a new one.'
  return html`${newCredentials(base, { clientId, clientSecret }, advice)}
${warning}
${tryIt({ clientId, clientSecret, suites, publicUrl })}
<div class="buttons">${leave}${handsOver && handOver}${another}</div>`
}
