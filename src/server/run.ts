import type { Store } from '../domain/store.ts'
import { type ListenConfig, listenAndServe } from './listen.ts'
import { startPurgeLoop } from './purge-loop.ts'
import { closeOnSignal } from './signals.ts'
import type { Telemetry } from './telemetry.ts'

/** Serves a store in this process until a signal comes. Resolves to the address when it listens. */
export async function run(store: Store, telemetry: Telemetry, config: ListenConfig): Promise<string> {
  const { observe } = telemetry
  const { app, address } = await listenAndServe(store, observe, config)
  const purgeLoop = startPurgeLoop({ store, now: Date.now, monotonic: () => performance.now(), observe })
  closeOnSignal(telemetry, async ({ signal }) => {
    observe({ type: 'stopping', signal })
    await app.close()
    await purgeLoop.stop()
    await store.close()
    observe({ type: 'stopped' })
  })
  return address
}
