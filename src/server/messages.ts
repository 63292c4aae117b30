import cluster, { type Worker } from 'node:cluster'
import { hash } from 'node:crypto'
import type { CertificateFiles } from '../listener/certificate.ts'
import { CATALOGUE, type Metric } from '../telemetry/metrics/catalogue.ts'
import type { Report } from '../telemetry/metrics/fleet.ts'

/**
 * What a leader sends to a worker. `certificate`: what it shows clients of new connections; `ticketKeys` in base64. `retire`: take
 * no new connections, and answer `retired` when the last one is closed.
 */
export type ToWorker =
  | { type: 'certificate'; files: CertificateFiles; ticketKeys: string }
  | { type: 'close' }
  | { type: 'retire' }
  | { type: 'ping' }

/** `certificate?`: a worker asks for its first one, because what is sent before it listens to messages is lost. */
export type ToLeader =
  | { type: 'certificate?' }
  | { type: 'listening'; address: string }
  | { type: 'retired' }
  | { type: 'pong' }
  | { type: 'report'; report: Report }

const layout = Object.entries<Metric>(CATALOGUE).map(([name, { type, labels, buckets }]) => [
  name,
  type,
  labels,
  buckets,
])

/** Names the metrics of this program. What a program with other metrics has counted means something else here. */
export const CATALOGUE_ID = hash('sha256', JSON.stringify(layout)).slice(0, 16)

/** The environment variable in which a leader gives its workers its CATALOGUE_ID. */
export const CATALOGUE_OF_LEADER = 'TOKEN_SERVER_CATALOGUE'

/** Sends a message to a worker, unless the worker is disconnected. */
export function sendToWorker(worker: Worker, message: ToWorker): void {
  if (worker.isConnected()) worker.send(message)
}

/** Sends a message to this worker's leader, unless it is disconnected. Calls back when it is sent, or cannot be. */
export function sendToLeader(message: ToLeader, onSent: () => void = () => {}): void {
  if (cluster.worker?.isConnected()) cluster.worker.send(message, onSent)
  else onSent()
}

type Handlers<Message extends { type: string }> = {
  [Type in Message['type']]?: (message: Extract<Message, { type: Type }>) => void
}

/** Calls the handler for each message from a worker or, in a worker, from its leader. Ignores others, such as a library's. */
export function onMessage<Message extends ToLeader | ToWorker>(
  sender: Worker | NodeJS.Process,
  handlers: Handlers<Message>,
): void {
  const byType = handlers as Record<string, ((message: unknown) => void) | undefined>
  const emitter: NodeJS.EventEmitter = sender
  emitter.on('message', (message: unknown) => {
    const type = (message as { type?: unknown } | null)?.type
    if (typeof type === 'string' && Object.hasOwn(byType, type)) byType[type]?.(message)
  })
}
