import type { Application } from '../../../domain/application.ts'
import type { Suite } from '../../../domain/suite.ts'
import { type Html, html } from '../html.ts'
import { MAX_CHOICES } from '../suite-choices.ts'
import { checkboxes } from './forms.ts'
import { emptyState, name, section } from './words.ts'

interface Approvals {
  /** The path of the application's page. */
  base: string
  application: Pick<Application, 'suites'>
  suites: readonly Pick<Suite, 'suiteId' | 'name'>[]
  canChange: boolean
}

/** Which suites an application's tokens are valid at. What was shown is sent along: only what differs from it is changed. */
export function approvalsPanel({ base, application, suites, canChange }: Approvals): Html {
  const approved = new Set(application.suites)
  if (suites.length === 0) return section('approvals', 'Approvals', nothingYet(canChange))
  if (!canChange) return section('approvals', 'Approvals', approvedOnly(application, suites))
  return section(
    'approvals',
    'Approvals',
    html`<form class="form" method="post" action="${`${base}/approvals`}">
${suites.filter(({ suiteId }) => approved.has(suiteId)).map(({ suiteId }) => html`<input type="hidden" name="shown" value="${suiteId}">`)}
${suiteChoices('Its tokens are valid at these suites', suites, (suiteId) => approved.has(suiteId))}
<div class="buttons"><button class="button primary">Save approvals</button></div></form>`,
  )
}

/** Suites to choose several of. */
export function suiteChoices(
  legend: string,
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
  return html`<div class="suites">${checkboxes({ label: legend, name: 'suite', error }, choices)}${others}</div>`
}

function nothingYet(canChange: boolean): Html {
  return emptyState(
    'There is no suite yet',
    html`<p>Without any, its tokens are valid wherever tokens are checked.</p>${canChange && html`<p><a class="button" href="/new-suite">Register a suite</a></p>`}`,
  )
}

/** All that it is approved for; the names of those that are among `suites`. */
function approvedOnly({ suites: ids }: Approvals['application'], suites: Approvals['suites']): Html {
  if (ids.length === 0) return html`<p>Its tokens are valid at no suite.</p>`
  const names = new Map(suites.map((suite) => [suite.suiteId, name(suite.name)]))
  return html`<p>Its tokens are valid at these suites:</p><ul>${ids.map((id) => html`<li>${names.get(id)} <code>${id}</code></li>`)}</ul>`
}
