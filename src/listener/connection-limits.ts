import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import { prefixOf } from '../domain/address.ts'
import type { ClosingReason, ListenerName, Observer } from '../domain/events.ts'
import { isIdle, pipelineOf } from './pipeline.ts'

/** Connections of one process. */
const PER_PROCESS = 8192

/** File descriptors for everything but connections. */
const OTHER_DESCRIPTORS = 128

export interface ConnectionLimits {
  /** Connections of one address prefix; any number by default. */
  perPrefix?: number
  /** Connections of all clients together; by default as many as the process may have files. */
  total?: number
  /** Whether an address is that of many clients, such as a proxy's, whose connections have no limit of their own; none by default. */
  isShared?: (address: string) => boolean
  closed: Pick<ClosedConnections, 'count'>
}

/**
 * Limits the connections of an address prefix, and of all. At a limit, a new connection replaces the oldest one on which the
 * server waits for the client: of its prefix, or of the prefix that has most. If there is none, the new one is closed.
 */
export function limitConnections(
  server: Server,
  { perPrefix = Infinity, total = maxConnections(openFiles()), isShared = () => false, closed }: ConnectionLimits,
): void {
  /** Oldest first. */
  const byPrefix = new Map<string, Set<Socket>>()
  let count = 0

  server.on('connection', (connection: Socket) => {
    const address = String(connection.remoteAddress)
    count++
    connection.once('close', () => {
      count--
    })
    const own = isShared(address) ? undefined : join(connection, prefixOf(address))
    if (own && own.size > perPrefix) makeRoom('too many connections of one address', own, connection)
    else if (count > total) makeRoom('too many connections', largest(byPrefix.values()), connection)
  })

  function join(connection: Socket, prefix: string): Set<Socket> {
    const group = byPrefix.get(prefix) ?? new Set()
    byPrefix.set(prefix, group.add(connection))
    connection.once('close', () => {
      group.delete(connection)
      if (group.size === 0) byPrefix.delete(prefix)
    })
    return group
  }

  function makeRoom(
    reason: 'too many connections' | 'too many connections of one address',
    group: Set<Socket>,
    newest: Socket,
  ) {
    const victim = oldestIdle(group) ?? newest
    closed.count(reason, victim.remoteAddress)
    victim.destroy()
  }
}

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
  // Otherwise the report looks up host names.
  Object.assign(process.report, { excludeNetwork: true })
  const { userLimits } = process.report.getReport() as { userLimits: { open_files: { soft: number | string } } }
  return userLimits.open_files.soft
}

/** Fewer than file descriptors: without one, the kernel closes connections, and the process does not notice. */
export function maxConnections(descriptors: number | string): number {
  if (typeof descriptors === 'string') return PER_PROCESS
  return Math.min(PER_PROCESS, Math.max(descriptors - OTHER_DESCRIPTORS, OTHER_DESCRIPTORS))
}

/** Between two reports with the same reason. */
const QUIET_MS = 60_000

export type ClosedConnections = ReturnType<typeof countClosedConnections>

/**
 * Counts the connections that are closed because of a limit. They can be thousands in a second, so the first one of a reason
 * is reported at once, and then the number of each minute.
 */
export function countClosedConnections(
  observe: Observer,
  {
    quiet = QUIET_MS,
    measure,
    listener,
  }: { quiet?: number; measure?: Observer | undefined; listener?: ListenerName | undefined } = {},
) {
  const counts = new Map<ClosingReason, { connections: number; remoteAddress: string | undefined }>()
  const timers = new Map<ClosingReason, NodeJS.Timeout>()

  /** Counts one; the address is the client's. */
  function count(reason: ClosingReason, remoteAddress: string | undefined): void {
    measure?.({ type: 'connection closed', reason })
    counts.set(reason, { connections: (counts.get(reason)?.connections ?? 0) + 1, remoteAddress })
    if (!timers.has(reason)) report(reason)
  }

  function report(reason: ClosingReason): void {
    timers.delete(reason)
    const counted = counts.get(reason)
    if (!counted) return
    counts.delete(reason)
    observe({ type: 'connections closed', reason, listener, ...counted })
    timers.set(reason, setTimeout(report, quiet, reason).unref())
  }

  /** Reports what was not reported yet. */
  function end(): void {
    for (const [reason, timer] of [...timers]) {
      clearTimeout(timer)
      report(reason)
    }
  }

  return { count, end }
}
