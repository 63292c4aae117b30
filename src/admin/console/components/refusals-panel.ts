import type { Explanation } from '../../../administration/why.ts'
import { type Html, html } from '../html.ts'
import { refusalsTable } from './refusals-table.ts'
import { section } from './words.ts'

const KNOWN = html`<p class="hint">Reload to see newer ones. Refusals show up within 5 seconds, tokens and uses of secrets within a minute.</p>`

const OF_APPLICATIONS = html`<p class="hint">An application that is refused at this suite has its refusals on its own page.</p>`

/** The last refusals of a client, and those of similar client ids, which may be typing errors. */
export function refusalsPanel({ suite, refusals, similarRefusals }: Explanation, now: number): Html {
  const own =
    refusals.length === 0
      ? html`<p class="quiet-text">No request was refused in the last 30 days.</p>`
      : refusalsTable('Its last refusals, newest first', refusals, { now })
  const similar =
    similarRefusals.length > 0 &&
    section(
      'similar',
      'Refused client ids that look like this one',
      refusalsTable('Refused client ids that look like it, newest first', similarRefusals, { now, withClient: true }),
    )
  const title = suite ? 'Last refusals of its own requests' : 'Last refusals'
  return html`${section('refusals', title, html`${own}${suite ? OF_APPLICATIONS : KNOWN}`)}${similar}`
}
