import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Administration } from '../../administration/administration.ts'
import type { ShownApplication } from '../../administration/applications.ts'
import { wayOfLastToken } from '../../administration/secrets.ts'
import { type Explanation, NothingKnown } from '../../administration/why.ts'
import { type Application, columnsOf } from '../../domain/application.ts'
import type { Suite } from '../../domain/suite.ts'
import { firstTen } from '../../domain/text.ts'
import { address, type Html, html, path } from '../../web/html.ts'
import type { About, AdminContext } from '../context.ts'
import { administrationOf } from '../wire/caller.ts'
import { lastChanges } from './audit.ts'
import { redirectChanged } from './changed.ts'
import { age, card, emptyState, facts, help, liveControls, name, note, section, sentence, time } from './components.ts'
import {
  diagnosisNote,
  instructionsFor,
  liveDiagnosis,
  type PageInstructions,
  similarRefusalsPanel,
} from './diagnosis.ts'
import { addFederated, federatedForm } from './federated.ts'
import {
  allOrNone,
  assertNameTyped,
  canChange,
  checkboxes,
  confirm,
  type FieldState,
  fieldsOf,
  hidden,
  type Refused,
  redirectDone,
  statesOf,
  textsIn,
} from './forms.ts'
import { changeHandOvers, handOversPanel } from './hand-overs.ts'
import { icon } from './icons.ts'
import { type Page, showPage } from './layout.ts'
import { assertNewSignIn } from './login.ts'
import { annotationFacts, changeNames, notes, type Owners, ownerForms, removeOwner, withContents } from './owner.ts'
import { proposedQuota, quotaBar } from './quota.ts'
import { RANGE_NAMES } from './range.ts'
import { changeSecrets, copyable, secretsPanel, tryIt } from './secrets.ts'
import { changeMessage, undoChanges } from './undo.ts'
import { usagePanel } from './usage.ts'

type Route = { Params: { id: string } }

export const PARENT = { href: '/applications', label: 'Applications' } as const

export function application(console: FastifyInstance, context: AdminContext): void {
  const actions = (request: FastifyRequest) => administrationOf(context, request).applications
  const show = createView(context)

  console.get<Route>('/applications/:id', (request, reply) => show(request.params.id, reply))

  for (const change of ['suspend', 'resume'] as const) {
    console.post<Route>(`/applications/:id/${change}`, async (request, reply) => {
      const { id } = request.params
      return redirectChanged(context, reply, pathOf(id), await actions(request)[change](id))
    })
  }

  console.post<Route>('/applications/:id/approve', async (request, reply) => {
    const { id } = request.params
    const isChanged = await actions(request).edit(id, {}, fieldsOf(request.body).all('suite'), [])
    return redirectChanged(context, reply, pathOf(id), isChanged)
  })

  const applications: Owners = {
    parent: PARENT,
    find: (id, request) => actions(request).show(id),
    update(id, changes, request) {
      const { ticked, unticked } = approvalsIn(request.body)
      return actions(request).edit(id, changes, ticked, unticked)
    },
    remove: (id, request) => actions(request).remove(id),
    consequencesOf: async (owner) => consequencesOf(owner as ShownApplication),
    proposes: (owner) => proposedQuota(owner as ShownApplication, context.about.tokenQuota),
    show,
    inputs: async (owner, request, stateOf) => {
      const { suites } = owner as Application
      const inputs = editApprovals(
        await listChoices(administrationOf(context, request)),
        suites,
        request,
        stateOf('suite'),
      )
      return section('approvals', 'Approvals', inputs)
    },
  }
  const onForm = ownerForms(console, context, applications)
  changeNames(console, context, applications)
  undoChanges(onForm, context)
  removeOwner(console, context, applications)
  changeSecrets(onForm, context, applications)
  addFederated(onForm)
  changeHandOvers(onForm, context, applications)
  onForm('revoke-tokens', async ({ params: { id }, owner, base, request, reply }) => {
    assertNewSignIn(context, request, base)
    assertNameTyped(request, owner.name)
    await actions(request).revokeAllTokens(id)
    return redirectDone(reply, base, 'tokens-revoked')
  })
}

function pathOf(clientId: string): string {
  return path`/applications/${clientId}`
}

function createView(context: AdminContext) {
  const { now, about } = context

  return async (clientId: string, reply: FastifyReply, { errors = [], status = 200 }: Partial<Refused> = {}) => {
    const { request } = reply
    const administration = administrationOf(context, request)
    const { why, handOvers } = administration
    const instructions = instructionsFor(request)
    const explanation = await why(clientId, instructions).catch((error) => {
      if (error instanceof NothingKnown) return error
      throw error
    })
    if (explanation instanceof NothingKnown || !explanation.application) {
      return showPage(reply, unknownApplicationPage(clientId, explanation, now()), { status: 404 })
    }
    const { application, authors } = explanation
    const { lastTokenAt, secrets, suites: approved } = application
    const links = await handOvers.list(clientId)
    const mayChange = canChange(request)
    const at = now()
    const base = pathOf(clientId)
    const live = liveApplication(explanation, instructions, { now: at, tokenQuota: about.tokenQuota })
    const use = tryIt({ clientId, suites: approved, publicUrl: about.urls.publicUrl })
    const stateOf = statesOf(errors)
    const federated = federatedForm(base, request, stateOf, about.urls.publicUrl)
    const hint =
      'Its tokens, the checks that found them valid, and what was refused: its requests, and checks of its tokens,'
    const usage = { clientId, base, kinds: ['tokens', 'checks', 'refusals'], hint } as const
    const page: Page = {
      title: application.name,
      heading: html`${name(application.name)} ${live.state}`,
      section: '/applications',
      scripts: ['live.js', 'chart.js'],
      trail: [PARENT],
      actions:
        mayChange &&
        html`<a class="button" href="${base}/edit">${icon('edit')}Edit</a>${statusChange(application, base)}`,
      content: html`${await changeMessage(context, request, application)}${notes(errors, mayChange)}
${withContents(html`${section('health', 'Status', html`${live.status}${live.figures}${factsOf(application)}`, html`${live.asOf}${liveControls(address(base, textsIn(RANGE_NAMES, request.query)), { client: clientId })}`)}
${lastTokenAt === undefined && use}
${await usagePanel(context, request, usage)}
${live.refusals}
${section('approvals', 'Approvals', approvals(approved, await listChoices(administration)), mayChange && html`<a class="button" href="${`${base}/edit#approvals`}">Edit approvals</a>`)}
${secretsPanel({ base, name: application.name, secrets, authors, now: at, request, handsOver: handOvers.isOn, federated, hours: stateOf('hours') })}
${handOversPanel(base, links, { canChange: mayChange, now: at })}
${lastTokenAt !== undefined && use}
${await lastChanges(administration, { kind: 'application', id: clientId })}
${mayChange && destructiveActions(application, base, request.url)}`)}`,
    }
    return showPage(reply, page, { status })
  }
}

/** The parts of the page that change while it is open. `instructions` are those of the explanation. */
export function liveApplication(
  explanation: Explanation,
  { buttons }: PageInstructions,
  { now, tokenQuota }: { now: number } & Pick<About, 'tokenQuota'>,
) {
  const { application } = explanation
  return {
    ...liveDiagnosis(explanation, buttons, now),
    // It may have been removed in the meantime.
    figures: html`<div data-live="figures">${application && figures(application, now, tokenQuota)}</div>`,
  }
}

/** A suspended application has the button Resume in its status. */
function statusChange({ status, name }: ShownApplication, base: string): Html | undefined {
  if (status === 'suspended') return
  return confirm({
    label: 'Suspend',
    id: 'suspend',
    action: `${base}/suspend`,
    subject: name,
    consequences: html`<p>From the next request on it gets no tokens, and the tokens that it has are refused. You can resume it at any time.</p>`,
  })
}

function figures(application: ShownApplication, now: number, tokenQuota: About['tokenQuota']): Html {
  const { lastTokenAt, tokensThisHour, tokensLastHour, suites, secrets } = application
  const active = secrets.filter(({ state }) => state === 'active').length
  const way = wayOfLastToken(application)
  return html`<div class="cards">
${card('Last token', age(lastTokenAt, now), lastTokenAt === undefined ? 'A new one shows up within a minute.' : html`${time(lastTokenAt)}${way && html`, <a href="#secrets">${way}</a>`}`)}
${card('Tokens, last hour', tokensThisHour.toLocaleString('en'), html`${quotaBar(application, tokenQuota, now)}${tokensLastHour.toLocaleString('en')} in the hour before`)}
${card('Active secrets', active, html`<a href="#secrets">${secrets.length === active ? 'Secrets' : `${secrets.length} in all`}</a>`)}
${card('Approved suites', suites.length, html`<a href="#approvals">Approvals</a>`)}
</div>`
}

function factsOf(application: ShownApplication): Html {
  const { clientId, createdAt, tokensValidFrom, quota, sourceAddresses, publicLabels, reportOnly } = application
  const only = (limit: Application['reportOnly'][number]) => reportOnly.includes(limit) && ' (only reported)'
  const { name: _, ...others } = columnsOf(application)
  return html`${copyable('client-id', 'Client id', clientId)}${facts([
    ...Object.entries(others).map(([column, value]) => [sentence(column), html`<bdi>${value}</bdi>`] as const),
    ['Registered', time(createdAt)],
    tokensValidFrom > 0 && ['All tokens revoked', time(tokensValidFrom)],
    (quota !== null || reportOnly.includes('quota')) && [
      'Quota',
      html`${quota === null ? 'TOKEN_QUOTA' : `${quota.toLocaleString('en')} tokens an hour`}${only('quota')}`,
    ],
    sourceAddresses.length > 0 && [
      'Source addresses',
      html`<code>${sourceAddresses.join(', ')}</code>${only('source_addresses')}`,
    ],
    publicLabels.length > 0 && ['Public labels', html`<code>${publicLabels.join(', ')}</code>`],
    ...annotationFacts(application, '/applications'),
  ])}`
}

function destructiveActions({ name, status }: ShownApplication, base: string, url: string): Html {
  const action = `${base}/revoke-tokens`
  return section(
    'endings',
    'Revoke or remove',
    html`<div class="actions">${confirm({
      label: 'Revoke all tokens',
      action,
      subject: `of ${name}`,
      typed: { name, isWrong: url === action },
      consequences: html`<p>All tokens issued to it so far are refused from the next check on.${
        status === 'active' && ' It can ask for new ones at once.'
      } This cannot be undone.</p>`,
    })}<a class="button danger-quiet" href="${`${base}/remove`}">${icon('remove')}Remove…</a></div>`,
  )
}

function consequencesOf({ clientId, secrets, suites, lastTokenAt }: ShownApplication): Html {
  const active = secrets.filter(({ state }) => state === 'active').length
  return html`<ul>
<li>It gets no more tokens, and all tokens that it has are refused from the next check on.</li>
<li>Its secrets are deleted: ${secrets.length}, of which ${active} ${active === 1 ? 'is' : 'are'} active.</li>
<li>Its approvals are deleted: ${suites.length}.</li>
<li>Last token issued: ${time(lastTokenAt)}.</li>
<li>The audit still lists the changes to <code>${clientId}</code>.</li>
</ul><p>To stop it only for a while, suspend it instead.</p>`
}

function unknownApplicationPage(clientId: string, asked: Explanation | NothingKnown, now: number): Page {
  const { shown, more } = firstTen(asked.similarApplications)
  const { suite, similarRefusals = [] }: Partial<Explanation> = asked instanceof NothingKnown ? {} : asked
  return {
    title: 'No such application',
    section: '/applications',
    trail: [PARENT],
    content: html`${asked instanceof NothingKnown || suite ? note('warn', html`<p>No application has the client id <code>${clientId}</code>. It may belong to another server, or to an application that was removed long ago.</p>`) : diagnosisNote(asked)}
${suite && section('suite', 'Did you mean this suite?', html`<ul><li><a href="${path`/suites/${clientId}`}"><code>${clientId}</code></a> ${name(suite.name)}</li></ul>`)}
${shown.length > 0 && section('similar', 'Did you mean one of these?', html`<ul>${shown.map(({ clientId, name: named }) => html`<li><a href="${pathOf(clientId)}"><code>${clientId}</code></a> ${name(named)}</li>`)}${more && html`<li>${more}</li>`}</ul>`)}
${similarRefusalsPanel('refusals', 'Refused client ids that look like it', similarRefusals, now)}
<div class="buttons"><a class="button" href="/applications">All applications</a><a class="button" href="${address('/audit', { subject: clientId })}">Changes to this client id</a></div>`,
  }
}

const MAX_CHOICES = 200

export function listChoices({ suites }: Administration): Promise<Suite[]> {
  return suites.listFirst(MAX_CHOICES)
}

/** The approvals that were edited in a form. Those that someone else has changed in the meantime stay as they are. */
export function approvalsIn(body: unknown) {
  const { all } = fieldsOf(body)
  const [shown, wanted] = [new Set(all('shown')), new Set(all('suite'))]
  return { ticked: [...wanted.difference(shown)], unticked: [...shown.difference(wanted)] }
}

/** The checkboxes for approvals. They also send which suites were shown as approved, so that only real edits are applied. */
function editApprovals(
  suites: readonly Suite[],
  approved: readonly string[],
  request: FastifyRequest,
  state: FieldState,
): Html {
  if (suites.length === 0) return noSuites(html`<p><a class="button" href="/new-suite">Register a suite</a></p>`)
  const { ticked, unticked } = approvalsIn(request.body)
  const offered = suites.map(({ suiteId }) => suiteId).filter((suiteId) => approved.includes(suiteId))
  const checked = [...approved, ...ticked].filter((suiteId) => !unticked.includes(suiteId))
  return html`<div class="form">
${offered.map((suiteId) => hidden({ shown: suiteId }))}
${suiteChoices(suites, checked, state)}</div>`
}

function noSuites(register?: Html): Html {
  const rule = html`<p>A suite is an API. As long as there are no suites, tokens are valid wherever they are checked.</p>`
  return emptyState('There are no suites yet', html`${rule}${register}`)
}

/** The list of approved suites. `suites` has their names; some may be missing. */
function approvals(approved: Application['suites'], suites: readonly Suite[]): Html {
  if (suites.length === 0) return noSuites()
  if (approved.length === 0) return html`<p>Not approved for any suite, so its tokens are not valid anywhere.</p>`
  const names = new Map(suites.map((suite) => [suite.suiteId, name(suite.name)]))
  return html`<ul class="tiles">${approved.map((id) => html`<li><a href="${path`/suites/${id}`}">${names.get(id) ?? id}</a> <code>${id}</code></li>`)}</ul>`
}

/** Checkboxes for suites. `ticked`: their ids. */
export function suiteChoices(suites: readonly Suite[], ticked: readonly string[], state: FieldState): Html {
  const hint = html`A suite is an API. Tokens of an application are valid only at the suites that it is approved for.${help('suites')}`
  const choices = suites.map((suite) => ({
    value: suite.suiteId,
    label: name(suite.name),
    hint: html`<code>${suite.suiteId}</code>`,
    checked: ticked.includes(suite.suiteId),
  }))
  const others =
    suites.length === MAX_CHOICES && html`<p class="hint">At most ${MAX_CHOICES} suites are shown here.</p>`
  return html`<div class="suites" data-checks>${checkboxes({ label: 'Approved for these suites', name: 'suite', hint, ...state }, choices)}${others}</div>${allOrNone()}`
}
