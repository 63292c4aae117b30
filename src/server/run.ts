import type { Opened } from '../store/open.ts'
import { type ListenConfig, listenAndServe } from './listen.ts'
import { startPurgeLoop } from './purge-loop.ts'
import { closeOnSignal } from './signals.ts'
import type { Telemetry } from './telemetry.ts'

/** Serves a store in this process until a signal comes. Resolves when it listens, to its address and its databases. */
export async function run(
  open: () => Promise<Opened>,
  telemetry: Telemetry,
  config: ListenConfig,
): Promise<{ address: string; database: string; previous: string | undefined }> {
  const { observe } = telemetry
  // Before anything begins: a signal that comes during the start is served when it is over.
  const { release } = closeOnSignal(telemetry, async ({ signal }) => {
    observe({ type: 'stopping', signal })
    const { app, store, purgeLoop } = await started
    await app.close()
    await purgeLoop.stop()
    await store.close()
    await telemetry.flush()
    observe({ type: 'stopped' })
  })
  const started = start()
  const { address, store } = await started.catch((error) => {
    release()
    throw error
  })
  return { address, database: store.database, previous: store.previous }

  async function start() {
    const store = await open()
    const { app, address } = await listenAndServe(store, telemetry, config)
    const purgeLoop = startPurgeLoop({ store, now: Date.now, monotonic: () => performance.now(), observe })
    return { app, address, store, purgeLoop }
  }
}
