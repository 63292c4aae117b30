import { isTokenReason } from '../../domain/reasons.ts'
import type { RefusedClient } from '../../domain/refusal.ts'
import { name, number, table, time } from './components.ts'
import { reasonOf } from './diagnosis.ts'
import { type Html, html, path } from './html.ts'

/** How many of the last refusals the pages look at. */
export const LOOKED_AT = 1000

const MAX_ROWS = 20

const COLUMNS = ['Client', 'Suite', 'Reason', number('Times'), 'First', { label: 'Last', kind: 'line' }] as const

/** Refusals by client, suite and reason, with links to where they are mended. `empty`: shown if there are none. */
export function refusedTable(refused: readonly RefusedClient[], empty: string): Html {
  if (refused.length === 0) return html`<p class="quiet-text">${empty}</p>`
  const keyOf = ({ kind, id, suite, reason }: RefusedClient) => JSON.stringify([kind, id, suite, reason])
  const rows = [...Map.groupBy(refused, keyOf).values()].slice(0, MAX_ROWS).map((alike) => {
    const { kind, id, name: called, suite, reason, lastAt } = alike[0] as RefusedClient
    const isUnknown = kind === 'suite' && isTokenReason(reason)
    const client = kind === 'suite' ? path`/suites/${id}` : path`/applications/${id}`
    const place = isUnknown ? '#gateway' : reason === 'application not approved' ? '#approvals' : ''
    return [
      isUnknown ? 'no known application' : html`<a href="${client}">${name(called)}</a>`,
      suite === '' ? '–' : html`<a href="${path`/suites/${suite}`}"><code>${suite}</code></a>`,
      html`<a href="${client}${place}">${reasonOf(reason)}</a>`,
      alike.reduce((sum, { count }) => sum + count, 0).toLocaleString('en'),
      time(Math.min(...alike.map(({ firstAt }) => firstAt))),
      time(lastAt),
    ]
  })
  return table('Refusals by client, suite and reason, newest first', COLUMNS, rows)
}
