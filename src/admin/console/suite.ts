import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Administration } from '../../administration/administration.ts'
import type { ShownSuite } from '../../administration/suites.ts'
import type { Explanation } from '../../administration/why.ts'
import { isTokenReason } from '../../domain/reasons.ts'
import type { RefusedClient } from '../../domain/refusal.ts'
import type { AdminContext } from '../context.ts'
import { administrationOf } from '../wire/caller.ts'
import { lastChanges } from './audit.ts'
import { emptyState, facts, liveControls, name, section, time } from './components.ts'
import { instructionsFor, liveDiagnosis, type PageInstructions, refusedTable } from './diagnosis.ts'
import { many } from './figures.ts'
import { canChange, type Refused, statesOf } from './forms.ts'
import { address, type Html, html, path } from './html.ts'
import { type Page, showPage } from './layout.ts'
import { annotationFacts, changeNames, notes, type Owners, removeOwner, withContents } from './owner.ts'
import { changeSecrets, copyable, howToCheckTokens, secretsPanel } from './secrets.ts'
import { usagePanel } from './usage.ts'

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
  changeNames(console, suites)
  removeOwner(console, context, suites)
  changeSecrets(console, context, suites)
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
    const live = await liveSuite(administration, await why(suiteId, instructions), instructions, at)
    const known = html`${copyable('suite-id', 'Id', suiteId)}${facts([['Registered', time(createdAt)], ...annotationFacts(suite, '/suites')])}`
    const hint = 'Gateway checks and introspections that found the token valid, and what was refused,'
    const usage = { clientId: suiteId, base, kinds: ['checks', 'refusals'], hint } as const
    const page: Page = {
      title: named,
      heading: name(named),
      section: '/suites',
      scripts: ['live.js', 'chart.js'],
      trail: [PARENT],
      actions: mayChange && html`<a class="button" href="${base}/edit">Edit</a>`,
      content: html`${notes(errors, mayChange)}
${withContents(html`${section('health', 'Status', html`${live.status}${known}`, html`${live.asOf}${liveControls(base, { client: suiteId })}`)}
${await usagePanel(context, request, usage)}
${approvedPanel(suiteId, await suites.countApproved(suiteId), mayChange)}
${live.checks}
${live.refusals}
${secretsPanel({ base, secrets, now: at, request, hours: statesOf(errors)('hours') })}
${section('gateway', 'How tokens are checked', howToCheckTokens({ suiteId, ...about.urls }))}
${await lastChanges(administration, { kind: 'suite', id: suiteId })}
${mayChange && section('endings', 'Remove this suite', html`<div class="actions"><a class="button danger-quiet" href="${base}/remove">Remove…</a></div>`)}`)}`,
    }
    return showPage(reply, page, { status })
  }
}

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
  return {
    ...liveDiagnosis(explanation, buttons, now),
    checks: html`<div class="panel-part" data-live="checks">${section('checks', 'Refused checks', refused)}</div>`,
  }
}

/** `count` is the number of approved applications. */
function approvedPanel(suiteId: string, count: number, canChange: boolean): Html {
  const title = `Approved applications (${count.toLocaleString('en')})`
  const list = html`<a class="button" href="${address('/applications', { suite: suiteId })}">List ${many(count, 'application')}</a>`
  const change = html`<a class="button" href="${address('/applications', { for: suiteId })}">Approve or withdraw…</a>`
  const buttons = html`<div class="buttons">${count > 0 && list}${canChange && change}</div>`
  return section('approved', title, count > 0 ? buttons : emptyState('No application is approved yet', buttons))
}

/** `approved` is the number of approved applications. */
function consequencesOf({ suiteId, secrets }: ShownSuite, approved: number): Html {
  return html`<ul>
<li>${approved === 0 ? 'No application is approved for it.' : `${approved.toLocaleString('en')} ${approved === 1 ? 'application loses its' : 'applications lose their'} approval for it.`}</li>
<li>A gateway that asks for <code>${suiteId}</code> gets the answer that there is no such suite, and lets no request through.</li>
<li>Its secrets are deleted: ${secrets.length}. It can no longer use introspection.</li>
</ul>`
}
