import type { Explanation } from '../../../administration/why.ts'
import { type Html, html } from '../html.ts'
import { refusalsTable } from './refusals-table.ts'
import { section, time } from './words.ts'

/** The last refusals of a client, and of those that may be meant for it. */
export function refusalsPanel({ refusals, similarRefusals, knownUntil }: Explanation): Html {
  const known = html`<p class="hint">Servers tell of refusals within five seconds, and of tokens and uses of secrets within a minute: they are known until ${time(knownUntil.tokens)}.</p>`
  const own =
    refusals.length === 0
      ? html`<p>None is known of the last 30 days.</p>`
      : refusalsTable('Its last refusals, newest first', refusals)
  const similar =
    similarRefusals.length > 0 &&
    section(
      'similar',
      'Refused client ids that look like it',
      refusalsTable('Refused client ids that look like it, newest first', similarRefusals, { withClient: true }),
    )
  return html`${section('refusals', 'Last refusals', html`${known}${own}`)}${similar}`
}
