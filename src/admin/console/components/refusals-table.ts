import type { RefusalCount } from '../../../domain/refusal-count.ts'
import { type Html, html } from '../html.ts'
import { reasonInWords } from './reason.ts'
import { type Column, table } from './table.ts'
import { time } from './words.ts'

const SENT = { label: 'Client id as sent' }

const COLUMNS: readonly Column[] = [
  { label: 'Reason' },
  { label: 'Times', kind: 'number' },
  { label: 'Last refused' },
  { label: 'Endpoint and suite' },
  { label: 'Address' },
  { label: 'Request id of the last' },
]

/** Refusals, newest first. `withClient`: of client ids that may differ. */
export function refusalsTable(caption: string, refusals: readonly RefusalCount[], { withClient = false } = {}): Html {
  const rows = refusals.map((refusal) => {
    const { reason, endpoint, suite, remoteAddress, count, lastAt, requestId } = refusal
    return [
      reasonOf(reason),
      ...(withClient ? [html`<code>${refusal.clientId}</code>`] : []),
      count.toLocaleString('en'),
      time(lastAt),
      html`<code>${endpoint}</code>${suite !== undefined && html` <code>${suite}</code>`}`,
      html`<code>${remoteAddress}</code>`,
      requestId === undefined ? '–' : html`<code>${requestId}</code>`,
    ]
  })
  return table(caption, withClient ? COLUMNS.toSpliced(1, 0, SENT) : COLUMNS, rows)
}

function reasonOf(reason: string): Html {
  const words = reasonInWords(reason)
  return html`<span class="name">${words === undefined ? reason : html`${words} <span class="hint">${reason}</span>`}</span>`
}
