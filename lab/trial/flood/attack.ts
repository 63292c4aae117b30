/**
 * What an attacker does, on this many connections from addresses of the loopback network, until it is stopped. A connection
 * that the server ends is opened again, unless `once` is set.
 */
export type Attack = { port: number; connections: number; from?: string[]; once?: boolean } & (
  | { kind: 'idle' }
  /** Leaves as soon as it could send, after the handshake of TLS. */
  | { kind: 'knock' }
  /** The first half of a head, and nothing more. */
  | { kind: 'half-open' }
  /** The head of a request, one byte at a time. */
  | { kind: 'slow' }
  /** An endless series of requests, or this many blocks of 200 on each connection, whose answers are never read. */
  | { kind: 'unread'; request: string; blocks?: number }
  /** `count` requests, `inFlight` at a time on each connection. In `request` # becomes one of `names` numbers, and @ an address. */
  | { kind: 'requests'; request: string; inFlight: number; count: number; names?: number }
)

/** The result of an attack. */
export interface Attacked {
  sent: number
  /** Answers by their status. */
  statuses: Record<string, number>
  /** Connections that the server ended. */
  ended: number
  seconds: number
}
