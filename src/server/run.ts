import type { Opened } from '../store/opened.ts'
import { type Admin, type AdminConfig, startAdmin } from './admin.ts'
import { type ListenConfig, listenAndServe } from './listen.ts'
import { type OpsConfig, startOps } from './ops.ts'
import { startPurgeLoop } from './purge-loop.ts'
import { startSampling } from './reporting.ts'
import { createServerFigures } from './server-figures.ts'
import { closeOnSignal } from './signals.ts'
import type { Telemetry } from './telemetry.ts'

export type RunConfig = ListenConfig & OpsConfig & AdminConfig

/** Serves a store in this process until a signal comes. Resolves when it listens, to its addresses and its databases. */
export async function run(
  open: () => Promise<Opened>,
  telemetry: Telemetry,
  config: RunConfig,
): Promise<{
  address: string
  ops: string | undefined
  admin: string | undefined
  database: string
  previous: string | undefined
}> {
  const { observe, numbers } = telemetry
  let isServing = false
  let admin: Admin | undefined
  // Before anything begins: a signal that comes during the start is served when it is over.
  const { release } = closeOnSignal(telemetry, async ({ signal }) => {
    observe({ type: 'stopping', signal })
    const { app, store, purgeLoop, ops } = await started
    isServing = false
    await Promise.all([app.close(), admin?.close()])
    await purgeLoop.stop()
    await store.close()
    await telemetry.flush()
    await ops.close()
    observe({ type: 'stopped' })
  })
  const started = start()
  const { address, store, ops } = await started.catch(async (error) => {
    release()
    await admin?.close()
    throw error
  })
  return { address, ops: ops.address, admin: admin?.address, database: store.database, previous: store.previous }

  async function start() {
    const figures = numbers && createServerFigures(numbers, { expected: 1, serving: () => (isServing ? 1 : 0) })
    const ops = await startOps(config, { figures, observe })
    const store = await open()
    figures?.ofStore.open(store)
    admin = await startAdmin(config, { store, observe, figures })
    const { app, address, load } = await listenAndServe(store, telemetry, config)
    const member = figures?.fleet.join()
    if (member) startSampling(load, (sample) => member.take({ counted: [], sample }))
    isServing = true
    const purgeLoop = startPurgeLoop({ store, now: Date.now, monotonic: () => performance.now(), observe })
    return { app, address, store, purgeLoop, ops }
  }
}
