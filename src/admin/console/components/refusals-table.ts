import type { RefusalCount } from '../../../domain/refusal.ts'
import { type Html, html } from '../html.ts'
import { reasonInWords } from './reason.ts'
import { type Column, table } from './table.ts'
import { age, time } from './words.ts'

const SENT = { label: 'Client id as sent' }

const COLUMNS: readonly Column[] = [
  { label: 'Reason' },
  { label: 'Times', kind: 'number' },
  { label: 'Last refused', kind: 'line' },
  { label: 'Endpoint and suite' },
  { label: 'Address' },
  { label: 'Last request id' },
]

interface Shown {
  /** Milliseconds since the epoch. */
  now: number
  /** Whether to show the client id of each refusal. */
  withClient?: boolean
}

/** Refusals, newest first. */
export function refusalsTable(
  caption: string,
  refusals: readonly RefusalCount[],
  { now, withClient = false }: Shown,
): Html {
  const rows = refusals.map((refusal) => {
    const { reason, endpoint, suite, remoteAddress, count, lastAt, requestId } = refusal
    return [
      reasonOf(reason),
      ...(withClient ? [html`<span class="code">${refusal.clientId}</span>`] : []),
      count.toLocaleString('en'),
      html`${age(lastAt, now)}<div class="hint">${time(lastAt)}</div>`,
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
