import type { Application } from '../../../domain/application.ts'
import type { Suite } from '../../../domain/suite.ts'
import { type Html, html } from '../html.ts'
import { MAX_CHOICES } from '../suite-choices.ts'
import { checkboxes } from './forms.ts'
import { emptyState, name, section } from './words.ts'

const WHAT_IS_A_SUITE =
  'A suite is an API. Tokens of an application are valid only at the suites that it is approved for.'

interface Approvals {
  /** The path of the application's page. */
  base: string
  application: Pick<Application, 'suites'>
  suites: readonly Pick<Suite, 'suiteId' | 'name'>[]
  canChange: boolean
}

/** The approved suites. The form also sends which ones were shown as approved, so that only real edits are applied. */
export function approvalsPanel({ base, application, suites, canChange }: Approvals): Html {
  const approved = new Set(application.suites)
  if (suites.length === 0) return section('approvals', 'Approvals', nothingYet(canChange))
  if (!canChange) return section('approvals', 'Approvals', approvedOnly(application, suites))
  return section(
    'approvals',
    'Approvals',
    html`<form class="form" method="post" action="${`${base}/approvals`}">
${suites.filter(({ suiteId }) => approved.has(suiteId)).map(({ suiteId }) => html`<input type="hidden" name="shown" value="${suiteId}">`)}
${suiteChoices(suites, (suiteId) => approved.has(suiteId))}
<div class="buttons"><button class="button primary">Save approvals</button></div></form>`,
  )
}

/** Checkboxes for suites. */
export function suiteChoices(
  suites: readonly Pick<Suite, 'suiteId' | 'name'>[],
  isChecked: (suiteId: string) => boolean,
  error?: string,
): Html {
  const choices = suites.map((suite) => ({
    value: suite.suiteId,
    label: name(suite.name),
    hint: html`<code>${suite.suiteId}</code>`,
    checked: isChecked(suite.suiteId),
  }))
  const others =
    suites.length === MAX_CHOICES && html`<p class="hint">At most ${MAX_CHOICES} suites are shown here.</p>`
  return html`<div class="suites">${checkboxes({ label: 'Approved for these suites', name: 'suite', hint: WHAT_IS_A_SUITE, error }, choices)}${others}</div>`
}

function nothingYet(canChange: boolean): Html {
  return emptyState(
    'There are no suites yet',
    html`<p>A suite is an API. As long as there are none, tokens are valid wherever they are checked.</p>${canChange && html`<p><a class="button" href="/new-suite">Register a suite</a></p>`}`,
  )
}

/** The read-only list. `suites` has the names, perhaps not of all. */
function approvedOnly({ suites: ids }: Approvals['application'], suites: Approvals['suites']): Html {
  if (ids.length === 0) return html`<p>Not approved for any suite, so its tokens are not valid anywhere.</p>`
  const names = new Map(suites.map((suite) => [suite.suiteId, name(suite.name)]))
  return html`<p>Approved for these suites:</p><ul>${ids.map((id) => html`<li>${names.get(id)} <code>${id}</code></li>`)}</ul>`
}
