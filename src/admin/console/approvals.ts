import type { FastifyInstance } from 'fastify'
import type { Application } from '../../domain/application.ts'
import type { Suite } from '../../domain/suite.ts'
import type { AdminContext } from '../context.ts'
import { administrationOf } from '../wire/caller.ts'
import { checkboxes, hidden } from './components/forms.ts'
import { emptyState, name, section } from './components/words.ts'
import { fieldsOf, redirectDone } from './forms.ts'
import { type Html, html, path } from './html.ts'

/** How many suites a form offers as checkboxes, at most. */
const MAX_CHOICES = 200

/** The suites that an application can be approved for, as far as a form offers them. */
export function listChoices({ store }: AdminContext): Promise<Suite[]> {
  return store.listSuites({ limit: MAX_CHOICES })
}

/** Handles the form for approvals. */
export function changeApprovals(console: FastifyInstance, context: AdminContext): void {
  console.post<{ Params: { id: string } }>('/applications/:id/approvals', async (request, reply) => {
    const { id } = request.params
    const { applications } = administrationOf(context, request)
    const { ticked, unticked } = differences(request.body)
    await applications.approve(id, ...ticked)
    // Suites that were removed in the meantime no longer have approvals.
    const found = await Promise.all(unticked.map((suiteId) => context.store.findSuite(suiteId)))
    await applications.withdraw(id, ...unticked.filter((_, at) => found[at] !== undefined))
    return redirectDone(reply, path`/applications/${id}`, 'approvals-saved')
  })
}

/** What the operator ticked and unticked. Approvals that someone else changed in the meantime stay as they are. */
function differences(body: unknown): { ticked: string[]; unticked: string[] } {
  const fields = fieldsOf(body)
  const [shown, wanted] = [new Set(fields.all('shown')), new Set(fields.all('suite'))]
  return {
    ticked: [...wanted].filter((suiteId) => !shown.has(suiteId)),
    unticked: [...shown].filter((suiteId) => !wanted.has(suiteId)),
  }
}

type Choices = readonly Pick<Suite, 'suiteId' | 'name'>[]

interface Approvals {
  /** The path of the application's page. */
  base: string
  approved: Application['suites']
  suites: Choices
  canChange: boolean
}

/** The approved suites. The form also sends which ones were shown as approved, so that only real edits are applied. */
export function approvalsPanel({ base, approved, suites, canChange }: Approvals): Html {
  if (suites.length === 0) return section('approvals', 'Approvals', nothingYet(canChange))
  if (!canChange) return section('approvals', 'Approvals', approvedOnly(approved, suites))
  const shown = suites.map(({ suiteId }) => suiteId).filter((suiteId) => approved.includes(suiteId))
  return section(
    'approvals',
    'Approvals',
    html`<form class="form" method="post" action="${base}/approvals">
${shown.map((suiteId) => hidden({ shown: suiteId }))}
${suiteChoices(suites, shown)}
<div class="buttons"><button class="button primary">Save approvals</button></div></form>`,
  )
}

function nothingYet(canChange: boolean): Html {
  return emptyState(
    'There are no suites yet',
    html`<p>A suite is an API. As long as there are none, tokens are valid wherever they are checked.</p>${canChange && html`<p><a class="button" href="/new-suite">Register a suite</a></p>`}`,
  )
}

/** The read-only list. `suites` has the names, perhaps not of all. */
function approvedOnly(approved: Approvals['approved'], suites: Choices): Html {
  if (approved.length === 0) return html`<p>Not approved for any suite, so its tokens are not valid anywhere.</p>`
  const names = new Map(suites.map((suite) => [suite.suiteId, name(suite.name)]))
  return html`<p>Approved for these suites:</p><ul>${approved.map((id) => html`<li>${names.get(id)} <code>${id}</code></li>`)}</ul>`
}

/** Checkboxes for suites. `ticked`: their ids. */
export function suiteChoices(suites: Choices, ticked: readonly string[], error?: string): Html {
  const hint = 'A suite is an API. Tokens of an application are valid only at the suites that it is approved for.'
  const choices = suites.map((suite) => ({
    value: suite.suiteId,
    label: name(suite.name),
    hint: html`<code>${suite.suiteId}</code>`,
    checked: ticked.includes(suite.suiteId),
  }))
  const others =
    suites.length === MAX_CHOICES && html`<p class="hint">At most ${MAX_CHOICES} suites are shown here.</p>`
  return html`<div class="suites">${checkboxes({ label: 'Approved for these suites', name: 'suite', hint, error }, choices)}${others}</div>`
}
