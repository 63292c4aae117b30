import type { DocumentedAnswer } from '../../../lab/reference/description.ts'
import type { Sent } from './exchange.ts'

/** How a request differs from the usual one of its operation, for an answer. */
export type Change = (sent: Sent, answer: DocumentedAnswer) => Sent

export const withHeaders = (headers: Sent['headers']) => (sent: Sent) => ({
  ...sent,
  headers: { ...sent.headers, ...headers },
})

export const withoutHeader = (name: string) => (sent: Sent) => {
  const { [name]: _left, ...headers } = sent.headers
  return { ...sent, headers }
}

export const withTarget = (from: string | RegExp, to: string) => (sent: Sent) => ({
  ...sent,
  target: sent.target.replace(from, to),
})

/** With headers that do not end well, and no body; `open` leaves the client's side open, as if more came. */
export const endingIn =
  (headers: string, open = false) =>
  (sent: Sent) => ({ ...sent, raw: { headers, open } })

/** What comes about in the same way at both ports. */
export const EVERYWHERE = {
  'not-HTTP': { change: endingIn('no header\r\n\r\n') },
  'headers-too-large': { change: withHeaders({ 'X-Large': 'x'.repeat(17 * 1024) }) },
  'store-unavailable': { trouble: 'store gone' },
  'unexpected-error': { trouble: 'store closed' },
} as const
