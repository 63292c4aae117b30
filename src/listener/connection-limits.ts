import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import type { ClosingReason, ListenerName, Observer } from '../domain/events.ts'
import { prefixOf } from '../web/address.ts'
import { isIdle, pipelineOf } from './pipeline.ts'

/** The most connections of one process. With TLS each takes 60 KiB of memory, else 13. */
const PER_PROCESS = 8192
const PER_PROCESS_WITH_TLS = 4096

/** How many file descriptors are left for everything but connections. */
const OTHER_DESCRIPTORS = 128

interface ConnectionLimits {
  /** Connections of one address prefix; any number by default. */
  perPrefix?: number
  /** Connections of all clients together; by default what `maxConnections` returns. */
  total?: number
  hasTls?: boolean
  /** Whether many clients share an address, such as a proxy's: its connections may be half of the total. */
  isShared?: (address: string) => boolean
  /** Whether the operator has named the address as a proxy's: its connections have no limit of their own. */
  isTrusted?: (address: string) => boolean
}

/**
 * Limits the connections of each address prefix, and in total. At a limit, a new connection replaces the oldest idle one of its
 * prefix or, if there is none, of the prefix with the most connections. If none is idle, the new one is closed. `count` is called
 * for each closed one.
 */
export function limitConnections(
  server: Server,
  {
    perPrefix = Infinity,
    hasTls = false,
    total = maxConnections(openFiles(), hasTls),
    isShared = isNone,
    isTrusted = isNone,
  }: ConnectionLimits,
  count: (reason: ClosingReason, remoteAddress: string | undefined) => void,
): void {
  /** Oldest first. */
  const byPrefix = new Map<string, Set<Socket>>()
  let connections = 0

  server.on('connection', (connection: Socket) => {
    const address = String(connection.remoteAddress)
    connections++
    connection.once('close', () => {
      connections--
    })
    const own = join(connection, prefixOf(address))
    if (own.size > perPrefix && own.size > limitOf(address))
      makeRoom('too many connections of one address', own, connection)
    else if (connections > total) makeRoom('too many connections', largest(byPrefix.values()), connection)
  })

  function limitOf(address: string): number {
    if (isTrusted(address)) return Infinity
    return isShared(address) ? Math.max(perPrefix, total / 2) : perPrefix
  }

  function join(connection: Socket, prefix: string): Set<Socket> {
    const group = byPrefix.get(prefix) ?? new Set()
    byPrefix.set(prefix, group.add(connection))
    connection.once('close', () => {
      group.delete(connection)
      if (group.size === 0) byPrefix.delete(prefix)
    })
    return group
  }

  function makeRoom(reason: ClosingReason, group: Set<Socket>, newest: Socket): void {
    const victim = oldestIdle(group) ?? newest
    count(reason, victim.remoteAddress)
    victim.destroy()
  }
}

const isNone = () => false

/** A loop, because iterator helpers are several times slower, and this runs for each new connection at the limit. */
function largest(groups: Iterable<Set<Socket>>): Set<Socket> {
  let found = new Set<Socket>()
  for (const group of groups) if (group.size > found.size) found = group
  return found
}

function oldestIdle(group: Set<Socket>): Socket | undefined {
  for (const connection of group) if (!connection.destroyed && isIdle(pipelineOf(connection))) return connection
  return undefined
}

/** How many files this process may have open: a number, or `unlimited`. */
function openFiles(): number | string {
  // Otherwise, making the report looks up host names.
  Object.assign(process.report, { excludeNetwork: true })
  const { userLimits } = process.report.getReport() as { userLimits: { open_files: { soft: number | string } } }
  return userLimits.open_files.soft
}

/** Allows fewer connections than file descriptors: when those run out, the kernel closes connections unnoticed. */
export function maxConnections(descriptors: number | string, hasTls = false): number {
  const most = hasTls ? PER_PROCESS_WITH_TLS : PER_PROCESS
  if (typeof descriptors === 'string') return most
  return Math.min(most, Math.max(descriptors - OTHER_DESCRIPTORS, OTHER_DESCRIPTORS))
}

const QUIET_MS = 60_000

export interface ClosingOptions {
  observe: Observer
  measure?: Observer | undefined
  /** Undefined for the public listener. */
  listener?: ListenerName
  /** Milliseconds between two reports of the same reason. */
  quiet?: number
}

/**
 * Counts the connections that are closed because of a limit. There can be thousands in a second, so for each reason
 * the first one is reported at once, and then their number once a minute.
 */
export function countClosedConnections({ observe, measure, listener, quiet = QUIET_MS }: ClosingOptions) {
  /** What happened since the last report, by reason. */
  const pending = new Map<ClosingReason, Closed & { timer: NodeJS.Timeout }>()

  function count(reason: ClosingReason, remoteAddress: string | undefined): void {
    measure?.({ type: 'connection closed', reason })
    const closed = pending.get(reason)
    if (closed) Object.assign(closed, { connections: closed.connections + 1, remoteAddress })
    else report(reason, { connections: 1, remoteAddress })
  }

  function report(reason: ClosingReason, { connections, remoteAddress }: Closed): void {
    observe({ type: 'connections closed', reason, listener, connections, remoteAddress })
    const timer = setTimeout(flush, quiet, reason).unref()
    pending.set(reason, { connections: 0, remoteAddress, timer })
  }

  function flush(reason: ClosingReason): void {
    const closed = pending.get(reason)
    pending.delete(reason)
    clearTimeout(closed?.timer)
    if (closed && closed.connections > 0) report(reason, closed)
  }

  /** Reports what has not been reported yet. */
  function end(): void {
    for (const reason of [...pending.keys()]) flush(reason)
  }

  return { count, end }
}

interface Closed {
  connections: number
  /** Of the last one. */
  remoteAddress: string | undefined
}
