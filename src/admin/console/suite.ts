import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { ShownSuite } from '../../administration/suites.ts'
import { usageOf } from '../../administration/usage.ts'
import { isTokenReason } from '../../domain/reasons.ts'
import type { RefusedClient } from '../../domain/refusal.ts'
import type { AdminContext } from '../context.ts'
import { administrationOf } from '../wire/caller.ts'
import { lastChanges } from './audit.ts'
import { asOf, emptyState, facts, name, section, time } from './components.ts'
import { diagnosisNote, instructionsFor, LOOKED_AT, refusalsPanel, refusedTable } from './diagnosis.ts'
import { assertCanChange, canChange, type Refused, redirectDone, statesOf } from './forms.ts'
import { address, type Html, html, path } from './html.ts'
import { type Page, showPage } from './layout.ts'
import { annotationFacts, changeNames, editForm, namesPanel, notes, type Owners, removalPage } from './owner.ts'
import { changeSecrets, howToCheckTokens, secretsPanel, urlsOf } from './secrets.ts'
import { periodOf, usagePanel } from './usage.ts'

type Route = { Params: { id: string } }

export const PARENT = { href: '/suites', label: 'Suites' } as const

export function suite(console: FastifyInstance, context: AdminContext): void {
  const actions = (request: FastifyRequest) => administrationOf(context, request).suites
  const show = createView(context)

  console.get<Route>('/suites/:id', (request, reply) => show(request.params.id, reply))

  console.get<Route>('/suites/:id/remove', async (request, reply) => {
    assertCanChange(request)
    const { id } = request.params
    const suites = actions(request)
    return showPage(reply, removeSuitePage(await suites.show(id), await suites.countApproved(id)))
  })

  console.post<Route>('/suites/:id/remove', async (request, reply) => {
    await actions(request).remove(request.params.id)
    return redirectDone(reply, '/suites', 'suite-removed')
  })

  const suites: Owners = {
    section: '/suites',
    find: (id, request) => actions(request).show(id),
    update: (id, changes, request) => actions(request).update(id, changes),
    show,
  }
  changeNames(console, suites)
  changeSecrets(console, context, suites)
}

function createView(context: AdminContext) {
  const { store, now } = context
  const urls = urlsOf(context)

  return async (suiteId: string, reply: FastifyReply, { errors = [], status = 200 }: Partial<Refused> = {}) => {
    const { request } = reply
    const { suites, why } = administrationOf(context, request)
    const suite = await suites.show(suiteId)
    const { name: named, createdAt, secrets } = suite
    const explanation = await why(suiteId, instructionsFor(request))
    const isCheck = ({ suite, reason }: RefusedClient) => suite === suiteId && isTokenReason(reason)
    const checks = (await store.listLastRefused(LOOKED_AT)).filter(isCheck)
    const changes = await lastChanges(store, { kind: 'suite', id: suiteId })
    const mayChange = canChange(request)
    const at = now()
    const base = path`/suites/${suiteId}`
    const stateOf = statesOf(errors)
    const usage = await usageOf(context, suiteId, periodOf(request, '24h'))
    const statistics = await context.statistics.read()
    const known = facts([
      ['Id', html`<code>${suiteId}</code>`],
      ['Registered', time(createdAt)],
      ...annotationFacts(suite, '/suites'),
    ])
    const page: Page = {
      title: named,
      heading: name(named),
      section: '/suites',
      scripts: ['chart.js'],
      trail: [PARENT],
      content: html`${notes(errors, mayChange)}
${editForm(
  base,
  mayChange,
  html`${section('health', 'Status', html`${diagnosisNote(explanation)}${known}`, asOf(at, base))}
${mayChange && namesPanel(suite, request.body, stateOf)}`,
)}
${usagePanel({ usage, base, kinds: ['checks', 'refusals'], hint: 'Gateway checks and introspections that found the token valid, and what was refused,', statistics })}
${refusalsPanel(explanation, at)}
${section('checks', 'Refused checks', refusedTable(checks, 'No check was refused in the last 30 days.'))}
${secretsPanel({ base, secrets, now: at, request, hours: stateOf('hours') })}
${section('gateway', 'How tokens are checked', howToCheckTokens({ suiteId, ...urls }))}
${approvedPanel(suiteId, await suites.countApproved(suiteId), mayChange)}
${changes}
${mayChange && section('endings', 'Remove this suite', html`<div class="actions"><a class="button danger-quiet" href="${base}/remove">Remove…</a></div>`)}`,
    }
    return showPage(reply, page, { status })
  }
}

/** `count`: the number of approved applications. */
function approvedPanel(suiteId: string, count: number, canChange: boolean): Html {
  const title = `Approved applications (${count.toLocaleString('en')})`
  const advice = html`<p>Open each <a href="/applications">application</a> that may use this suite, and tick it under “Approvals”.</p>`
  const list = html`<p><a href="${address('/applications', { suite: suiteId })}">List them</a></p>`
  return section(
    'approved',
    title,
    count > 0 ? list : emptyState('No application is approved yet', canChange && advice),
  )
}

/** `approved`: the number of approved applications. */
function removeSuitePage({ suiteId, name, secrets }: ShownSuite, approved: number): Page {
  return removalPage({
    named: name,
    base: path`/suites/${suiteId}`,
    parent: PARENT,
    consequences: html`<li>${approved === 0 ? 'No application is approved for it.' : `${approved.toLocaleString('en')} ${approved === 1 ? 'application loses its' : 'applications lose their'} approval for it.`}</li>
<li>A gateway that asks for <code>${suiteId}</code> gets the answer that there is no such suite, and lets no request through.</li>
<li>Its secrets are deleted: ${secrets.length}. It can no longer use introspection.</li>`,
  })
}
