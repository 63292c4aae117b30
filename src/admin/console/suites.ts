import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Administration } from '../../administration/administration.ts'
import { withWarning } from '../../administration/diagnosis.ts'
import { type ListedSuite, MANY_APPROVED, type RegisteredSuite, type ShownSuite } from '../../administration/suites.ts'
import { suiteView } from '../../administration/views.ts'
import type { Explanation } from '../../administration/why.ts'
import { isTokenReason } from '../../domain/reasons.ts'
import type { RefusedClient } from '../../domain/refusal.ts'
import { many } from '../../domain/text.ts'
import { HOUR } from '../../domain/usage.ts'
import { SUITE } from '../../views/registry.ts'
import { address, type Html, html, path } from '../../web/html.ts'
import type { About, AdminContext } from '../context.ts'
import { administrationOf } from '../wire/caller.ts'
import { lastChanges } from './audit.ts'
import { emptyState, facts, help, labelCount, liveControls, name, note, number, section, time } from './components.ts'
import {
  badges,
  findTroubled,
  instructionsFor,
  liveDiagnosis,
  type PageInstructions,
  refusedTable,
  type Troubled,
} from './diagnosis.ts'
import { canChange, field, fieldsOf, type Refused, statesOf, textsIn } from './forms.ts'
import { icon } from './icons.ts'
import { type Page, showPage } from './layout.ts'
import { listPage, numberIn } from './list.ts'
import {
  annotationFacts,
  changeNames,
  changesIn,
  notes,
  type Owners,
  optionalInputs,
  ownerForms,
  registrationForm,
  removeOwner,
  withContents,
} from './owner.ts'
import { RANGE_NAMES } from './range.ts'
import { changeSecrets, copyable, howToCheckTokens, newCredentials, secretsPanel } from './secrets.ts'
import { changeMessage, undoChanges } from './undo.ts'
import { usagePanel } from './usage.ts'

const COLUMNS = [
  ...['Suite', 'Id', 'Status', number('Valid checks/h'), number('Refused/h'), number('Approved applications')],
  { label: 'Registered', kind: 'line' } as const,
]

const SORTS = {
  Suite: ['name', 'ascending'],
  'Valid checks/h': ['checks', 'descending'],
  'Refused/h': ['refusals', 'descending'],
} as const

const REGISTER = html`<a class="button primary" href="/new-suite">Register a suite</a>`

export function listSuites(console: FastifyInstance, context: AdminContext): void {
  listPage(console, context, {
    path: '/suites',
    noun: 'suite',
    title: 'Suites',
    lead: 'APIs that check tokens, by themselves or through a gateway. A token is valid only at the suites that its application is approved for.',
    register: REGISTER,
    caption: 'Suites',
    columns: COLUMNS,
    sorts: SORTS,
    cells: row,
    pages: 'from',
    ask: async (_, request) => ({
      filter: textsIn(['label', 'sort'], request.query),
      ...(await findTroubled(context, request, 'suite')),
    }),
    async read({ suites }, { filter: { label, sort = '' } }, { after, limit, isFile }) {
      const labels = label ? [label] : undefined
      if (isFile) {
        const { rows, next } = await suites.listPage({ after, limit, labels })
        // A file has no counts.
        return { rows: rows as ListedSuite[], next }
      }
      const { suites: rows, total } = await suites.browse({ labels, sort, from: numberIn(after) ?? 0, limit })
      return { rows, total }
    },
    empty: (_, { isNew, canChange }) => (isNew ? nothingYet(canChange) : emptyState('No suite has this label', '')),
    file: { list: 'suites', schema: SUITE, view: suiteView },
    async page({ asked: { filter }, summary, listed, links }) {
      const { label } = filter
      const all = html`<p class="hint">Those with the label <code>${label}</code> · <a href="/suites">All suites</a></p>`
      return { content: html`${label !== '' && all}${summary}${listed}${links}` }
    },
  })
}

function nothingYet(canChange = false): Html {
  return emptyState(
    'There are no suites yet',
    html`<p>A suite is an API that checks tokens. As long as there are none, the tokens of every application are valid wherever they are checked.</p>${canChange && html`<p>${REGISTER}</p>`}`,
  )
}

type Asked = Troubled & { filter: Record<'label' | 'sort', string> }

function row(suite: ListedSuite, { failing, ending, now }: Asked) {
  const { suiteId, name: named, labels, checks, refusals, approved, createdAt } = suite
  const page = path`/suites/${suiteId}`
  return [
    html`<a href="${page}">${name(named)}</a>${labelCount(labels, page)}`,
    html`<code title="${suiteId}">${suiteId}</code>`,
    badges(suite, { isFailing: failing.has(suiteId), endsSoon: ending.has(suiteId), now }),
    checks.toLocaleString('en'),
    refusals.toLocaleString('en'),
    `${approved.toLocaleString('en')}${approved === MANY_APPROVED ? ' or more' : ''}`,
    time(createdAt),
  ]
}

export function newSuite(console: FastifyInstance, context: AdminContext): void {
  registrationForm(console, {
    path: '/new-suite',
    parent: PARENT,
    title: 'Register a suite',
    lead: html`A suite is an API that checks tokens, by itself or through a gateway. It gets a secret, which is shown once.${help('suites')}`,
    errorsAt: { 'taken id': 'suite_id', id: 'suite_id' },
    first: 'suite_id',
    inputs: ({ body }, stateOf) => {
      const { text } = fieldsOf(body)
      return html`${field({ label: 'Id', name: 'suite_id', value: text('suite_id'), isCode: true, required: true, hint: 'Part of the address at which gateways check tokens. Letters, digits and - . _ ~ only. It cannot be changed later.', ...stateOf('suite_id') })}
${field({ label: 'Name', name: 'name', value: text('name'), required: true, ...stateOf('name') })}
${optionalInputs(['url', 'labels', 'note'], body, stateOf)}`
    },
    register: async (request, repeatable) => {
      const { text } = fieldsOf(request.body)
      const annotations = changesIn({ url: text('url'), labels: text('labels'), note: text('note') })
      const wanted = { suiteId: text('suite_id'), name: text('name'), ...annotations }
      const registered = await administrationOf(context, request).suites.register(wanted, repeatable)
      return { named: registered.name, content: credentialsOf(registered, context.about.urls) }
    },
  })
}

/** Shows the credentials of a new suite, once. `notApproved` is the number of applications, none of which is approved yet. */
function credentialsOf(suite: RegisteredSuite & { notApproved: number }, urls: About['urls']): Html {
  const { suiteId, clientSecret, notApproved } = suite
  const client = { clientId: suiteId, clientSecret }
  const base = path`/suites/${suiteId}`
  return html`${newCredentials(base, client, 'It is needed for introspection, not for the gateway check.')}
${notApproved > 0 && note('warn', html`<p>No application is approved for it yet (there ${notApproved === 1 ? 'is 1' : `are ${notApproved.toLocaleString('en')}`}). <a href="${address('/applications', { for: suiteId })}">Approve those that may use it</a>.</p>`)}
${section('gateway', 'How tokens are checked', howToCheckTokens({ ...client, ...urls }))}
<div class="buttons"><a class="button primary" href="${base}">Go to the suite</a></div>`
}

type Route = { Params: { id: string } }

export const PARENT = { href: '/suites', label: 'Suites' } as const

export function suite(console: FastifyInstance, context: AdminContext): void {
  const actions = (request: FastifyRequest) => administrationOf(context, request).suites
  const show = createView(context)

  console.get<Route>('/suites/:id', (request, reply) => show(request.params.id, reply))

  const suites: Owners = {
    parent: PARENT,
    find: (id, request) => actions(request).show(id),
    update: (id, changes, request) => actions(request).update(id, changes),
    remove: (id, request) => actions(request).remove(id),
    consequencesOf: async (owner, request) => {
      const suite = owner as ShownSuite
      return consequencesOf(suite, await actions(request).countApproved(suite.suiteId))
    },
    show,
  }
  const onForm = ownerForms(console, context, suites)
  changeNames(console, context, suites)
  undoChanges(onForm, context)
  removeOwner(console, context, suites)
  changeSecrets(onForm, context, suites)
}

function createView(context: AdminContext) {
  const { now, about } = context

  return async (suiteId: string, reply: FastifyReply, { errors = [], status = 200 }: Partial<Refused> = {}) => {
    const { request } = reply
    const administration = administrationOf(context, request)
    const { suites, why } = administration
    const suite = await suites.show(suiteId)
    const { name: named, createdAt, secrets } = suite
    const instructions = instructionsFor(request)
    const mayChange = canChange(request)
    const at = now()
    const base = path`/suites/${suiteId}`
    const explanation = await why(suiteId, instructions)
    const live = await liveSuite(administration, explanation, instructions, at)
    const known = html`${copyable('suite-id', 'Id', suiteId)}${facts([['Registered', time(createdAt)], ...annotationFacts(suite, '/suites')])}`
    const hint = 'Gateway checks and introspections that found the token valid, and what was refused,'
    const usage = { clientId: suiteId, base, kinds: ['checks', 'refusals'], hint } as const
    const page: Page = {
      title: named,
      heading: html`${name(named)} ${live.state}`,
      section: '/suites',
      scripts: ['live.js', 'chart.js'],
      trail: [PARENT],
      actions: mayChange && html`${approveLink(suiteId)}<a class="button" href="${base}/edit">${icon('edit')}Edit</a>`,
      content: html`${await changeMessage(context, request, suite)}${notes(errors, mayChange)}
${withContents(html`${section('health', 'Status', html`${live.status}${known}`, html`${live.asOf}${liveControls(address(base, textsIn(RANGE_NAMES, request.query)), { client: suiteId })}`)}
${await usagePanel(context, request, usage)}
${approvedPanel(suiteId, await suites.countApproved(suiteId), mayChange)}
${live.checks}
${live.refusals}
${secretsPanel({ base, name: named, secrets, authors: explanation.authors, now: at, request, hours: statesOf(errors)('hours') })}
${section('gateway', 'How tokens are checked', howToCheckTokens({ clientId: suiteId, ...about.urls }))}
${await lastChanges(administration, { kind: 'suite', id: suiteId })}
${mayChange && section('endings', 'Remove this suite', html`<div class="actions"><a class="button danger-quiet" href="${base}/remove">${icon('remove')}Remove…</a></div>`)}`)}`,
    }
    return showPage(reply, page, { status })
  }
}

const REFUSED_CHECKS = 'Tokens of applications were refused there within the last hour: see “Refused checks”.'

/** The parts of the page that change while it is open. `instructions` are those of the explanation. */
export async function liveSuite(
  { listLastRefused }: Administration,
  explanation: Explanation,
  { buttons }: PageInstructions,
  now: number,
) {
  const isCheck = ({ suite, reason }: RefusedClient) => suite === explanation.clientId && isTokenReason(reason)
  const checks = (await listLastRefused()).filter(isCheck)
  const refused = refusedTable(checks, 'No check was refused in the last 30 days.', true)
  const isRecent = checks.some(({ kind, lastAt }) => kind === 'application' && lastAt > now - HOUR)
  const known = isRecent ? withWarning(explanation, REFUSED_CHECKS) : explanation
  return {
    ...liveDiagnosis({ ...explanation, ...known }, buttons, now),
    checks: html`<div class="panel-part" data-live="checks">${section('checks', 'Refused checks', refused)}</div>`,
  }
}

function approveLink(suiteId: string): Html {
  return html`<a class="button" href="${address('/applications', { for: suiteId })}">Approve or withdraw…</a>`
}

function approvedPanel(suiteId: string, count: number, canChange: boolean): Html {
  const title = `Approved applications (${count.toLocaleString('en')})`
  const list = html`<a class="button" href="${address('/applications', { suite: suiteId })}">List ${many(count, 'application')}</a>`
  const buttons = html`<div class="buttons">${count > 0 ? list : canChange && approveLink(suiteId)}</div>`
  return section('approved', title, count > 0 ? buttons : emptyState('No application is approved yet', buttons))
}

function consequencesOf({ suiteId, secrets }: ShownSuite, approved: number): Html {
  return html`<ul>
<li>${approved === 0 ? 'No application is approved for it.' : `${approved.toLocaleString('en')} ${approved === 1 ? 'application loses its' : 'applications lose their'} approval for it.`}</li>
<li>A gateway that asks for <code>${suiteId}</code> gets the answer that there is no such suite, and lets no request through.</li>
<li>Its secrets are deleted: ${secrets.length}. It can no longer use introspection.</li>
</ul>`
}
