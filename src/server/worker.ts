import cluster from 'node:cluster'
import type { Store } from '../domain/store.ts'
import { createTls } from '../listener/certificate.ts'
import { retire } from '../listener/protect.ts'
import type { Tls } from '../listener/tls.ts'
import { type ListenConfig, listenAndServe } from './listen.ts'
import { within } from './loops.ts'
import { CATALOGUE_ID, CATALOGUE_OF_LEADER, onMessage, sendToLeader, type ToWorker } from './messages.ts'
import { startReporting } from './reporting.ts'
import { CLOSE_TIMEOUT_MS, closeOnSignal, endProcess, waitForFileOperations } from './signals.ts'
import type { Telemetry } from './telemetry.ts'

/** Less than the leader's, which ends after its workers. */
const WORKER_CLOSE_TIMEOUT_MS = CLOSE_TIMEOUT_MS - 1000

/** How long file operations may take when the leader is gone. */
const ORPHAN_TIMEOUT_MS = 1000

/** Answers requests until the leader closes this worker or is gone. */
export async function runWorker(open: () => Promise<Store>, telemetry: Telemetry, config: ListenConfig): Promise<void> {
  // Ctrl-C, for example, signals the whole process group. The leader handles signals and tells its workers what to do.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => {})
  process.prependListener('disconnect', endAsOrphan)
  const tls = config.TLS_CERT_FILE === undefined ? undefined : await receiveCertificates()
  const store = await open()
  const { app, address, load } = await listenAndServe(store, telemetry, config, tls)
  const { counters } = telemetry
  // After an upgrade by SIGHUP, the leader is of the program before: it would count something else.
  const isCounted = process.env[CATALOGUE_OF_LEADER] === CATALOGUE_ID
  const reporting =
    counters &&
    startReporting(counters, load, ({ counted, sample }, onSent) =>
      sendToLeader({ type: 'report', report: { counted: isCounted ? counted : [], sample } }, onSent),
    )
  const close = async () => {
    await app.close()
    await store.close()
    await reporting?.stop()
  }
  const { end } = closeOnSignal(telemetry, close, { signals: [], timeout: WORKER_CLOSE_TIMEOUT_MS })
  let isClosing = false
  onMessage<ToWorker>(process, {
    close() {
      // A worker that has retired gets this message again when the server ends. That must not cut its shutdown short.
      if (!isClosing) end()
      isClosing = true
    },
    async retire() {
      await retire(app.server)
      // It does not end yet: a connection may be on its way from the leader, and only a living process gives it back.
      sendToLeader({ type: 'retired' })
    },
    ping: () => sendToLeader({ type: 'pong' }),
  })
  sendToLeader({ type: 'listening', address })
}

/** Resolves to what the leader last sent. */
function receiveCertificates(): Promise<() => Tls> {
  let tls: Tls
  return new Promise((resolve) => {
    onMessage<ToWorker>(process, {
      certificate({ files, ticketKeys }) {
        tls = createTls(files, Buffer.from(ticketKeys, 'base64'))
        resolve(() => tls)
      },
    })
    sendToLeader({ type: 'certificate?' })
  })
}

/** Ends this worker when its leader is gone. Node.js would just exit, which a disk that hangs would delay for ever. */
async function endAsOrphan(): Promise<void> {
  if (cluster.worker) cluster.worker.exitedAfterDisconnect = true
  await within(ORPHAN_TIMEOUT_MS, waitForFileOperations())
  endProcess(0)
}
