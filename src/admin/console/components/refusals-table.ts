import type { RefusalCount } from '../../../domain/refusal-count.ts'
import { type Html, html } from '../html.ts'
import { reasonInWords } from './reason.ts'
import { table } from './table.ts'
import { time } from './words.ts'

const COLUMNS = [
  { label: 'Last refused' },
  { label: 'Reason' },
  { label: 'Endpoint' },
  { label: 'Suite' },
  { label: 'Address' },
  { label: 'Times', kind: 'number' },
  { label: 'Request id of the last one' },
] as const

/** Refusals, newest first. `withClient`: of client ids that may differ. */
export function refusalsTable(caption: string, refusals: readonly RefusalCount[], { withClient = false } = {}): Html {
  const rows = refusals.map((refusal) => {
    const { reason, endpoint, suite, remoteAddress, count, lastAt, requestId } = refusal
    return [
      time(lastAt),
      ...(withClient ? [html`<code>${refusal.clientId}</code>`] : []),
      reasonOf(reason),
      html`<code>${endpoint}</code>`,
      suite === undefined ? '–' : html`<code>${suite}</code>`,
      html`<code>${remoteAddress}</code>`,
      count.toLocaleString('en'),
      requestId === undefined ? '–' : html`<code>${requestId}</code>`,
    ]
  })
  const [first, ...others] = COLUMNS
  return table(caption, withClient ? [first, { label: 'Client id as sent' }, ...others] : COLUMNS, rows)
}

function reasonOf(reason: string): Html {
  const words = reasonInWords(reason)
  return words === undefined ? html`${reason}` : html`${words} <span class="hint">${reason}</span>`
}
