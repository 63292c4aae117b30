import type { Server } from 'node:http'
import type { ListenerName, Observer } from '../domain/events.ts'
import { countClosedConnections } from './closed-connections.ts'
import { type ConnectionLimits, limitConnections } from './connection-limits.ts'
import { type WatchOptions, watchConnections } from './connections.ts'

interface ProtectOptions extends Omit<WatchOptions, 'closed'> {
  observe: Observer
  measure?: Observer | undefined
  /** Undefined: the public one. */
  listener?: ListenerName
  /** Undefined: any number of connections. */
  limits: Omit<ConnectionLimits, 'closed'> | undefined
}

/**
 * Protects a server that was created with `COUNTED` against its clients. `drain` ends its connections in order; `end`, after
 * that, ends the checks, and reports the closed connections that were not reported yet.
 */
export function protect(
  server: Server,
  { observe, measure, listener, limits, ...watched }: ProtectOptions,
): { drain: () => void; end: () => void } {
  const closed = countClosedConnections(observe, { measure, listener })
  const { drain, stop } = watchConnections(server, { ...watched, closed })
  if (limits) limitConnections(server, { ...limits, closed })
  return {
    drain,
    end() {
      stop()
      closed.end()
    },
  }
}
