import type { DocumentedAnswer } from '../../../lab/reference/description.ts'
import type { Sent } from './exchange.ts'

/** How a request differs from the usual one of its operation, for an answer. */
export type Change = (sent: Sent, answer: DocumentedAnswer) => Sent

/** What can be wrong with a server; one without patience refuses what does not arrive at once. */
export type Trouble =
  | `store ${'gone' | 'closed' | 'moved'}`
  | 'quota exceeded'
  | 'too many checks'
  | 'too many JWTs'
  | 'no patience'

/** How to provoke a documented answer. */
export interface Cause {
  change?: Change
  trouble?: Trouble
  /** Whose admin key to send; default: the admin's. */
  as?: 'admin' | 'viewer'
  /** A request to send first, so many times; default: once. */
  before?: Change
  times?: number
}

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

/** The usual request. */
export const unchanged: Change = (sent) => sent

/** What is provoked in the same way at both ports. */
export const EVERYWHERE: Record<string, Cause> = {
  'not-HTTP': { change: endingIn('no header\r\n\r\n') },
  'headers-too-large': { change: withHeaders({ 'X-Large': 'x'.repeat(17 * 1024) }) },
  'store-unavailable': { trouble: 'store gone' },
  'unexpected-error': { trouble: 'store closed' },
}
