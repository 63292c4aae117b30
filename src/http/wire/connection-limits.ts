import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { prefixOf } from '../../domain/address.ts'
import type { ClosedConnections } from './closed-connections.ts'

/** How many connections a process has at most. */
const PER_PROCESS = 8192

/** File descriptors that are for anything but connections. */
const OTHER_DESCRIPTORS = 128

export interface ConnectionLimits {
  /** How many connections one prefix may have; Infinity: any number, and so may all together. */
  perPrefix: number
  /** Whether an address is that of many clients. */
  isShared: (address: string) => boolean
  closed: ClosedConnections
}

/** Closes new connections at once where a process, or a prefix that is not a proxy's, has too many. */
export function limitConnections(
  app: FastifyInstance,
  { perPrefix, isShared, closed }: ConnectionLimits,
  descriptors = openFiles(),
): void {
  if (perPrefix === Infinity) return
  const { server } = app
  const open = new Map<string, number>()

  // The workers of a leader would hand it on from one to the other.
  Object.assign(server, { maxConnections: maxConnections(descriptors), dropMaxConnection: true })
  server.on('drop', (connection) => closed.count('too many connections', connection?.remoteAddress))
  server.on('connection', (connection: Socket) => {
    const address = String(connection.remoteAddress)
    if (isShared(address)) return
    const prefix = prefixOf(address)
    const others = open.get(prefix) ?? 0
    if (others >= perPrefix) {
      closed.count('too many connections of one address', address)
      connection.destroy()
      return
    }
    open.set(prefix, others + 1)
    connection.once('close', () => forgetOne(open, prefix))
  })
}

/** How many files this process may have open: a number, or `unlimited`. */
function openFiles(): number | string {
  // Their names would be asked for.
  Object.assign(process.report, { excludeNetwork: true })
  const { userLimits } = process.report.getReport() as { userLimits: { open_files: { soft: number | string } } }
  return userLimits.open_files.soft
}

/** Fewer than file descriptors: without one, the kernel closes connections, and nobody is told. */
function maxConnections(descriptors: number | string): number {
  if (typeof descriptors === 'string') return PER_PROCESS
  return Math.min(PER_PROCESS, Math.max(descriptors - OTHER_DESCRIPTORS, OTHER_DESCRIPTORS))
}

function forgetOne(open: Map<string, number>, prefix: string): void {
  const left = (open.get(prefix) as number) - 1
  if (left > 0) open.set(prefix, left)
  else open.delete(prefix)
}
