/**
 * What an attacker does, on so many connections from addresses of the loopback network, until it is told to stop. A
 * connection that the server ends is opened again, unless each is to be opened `once`.
 */
export type Attack = { port: number; connections: number; from?: string[]; once?: boolean } & (
  | { kind: 'idle' }
  /** The head of a request, one byte at a time. */
  | { kind: 'slow' }
  /** Requests without an end, whose answers are never read. */
  | { kind: 'unread'; request: string }
  /** Requests with so many in flight on each connection. In `request` # becomes a number and @ an address, one of so many. */
  | { kind: 'requests'; request: string; inFlight: number; count: number; names?: number }
)

/** What it came to. */
export interface Attacked {
  sent: number
  /** Answers by their status. */
  statuses: Record<string, number>
  /** Connections that the server ended. */
  ended: number
  seconds: number
}
