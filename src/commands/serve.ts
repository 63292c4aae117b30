import cluster from 'node:cluster'
import { type Config, readConfig } from '../config.ts'
import { startServer } from '../server/run.ts'
import { keepTicksFast } from '../server/ticks.ts'
import { openStore } from '../store/open.ts'
import { createLog } from '../telemetry/log.ts'
import type { Terminal } from './shared/terminal.ts'

/** How long a request waits for another process that has locked the store, in milliseconds; then it gets a 503. */
const PATIENCE = 2000

/** `serve`: migrate, listen, log one line when ready. With several WORKERS this process leads and they answer. */
export async function serve(terminal: Terminal): Promise<void> {
  keepTicksFast()
  const config = readConfig(terminal.env)
  const shared = config.WORKERS > 1
  const log = await createLog(config.LOG_LEVEL, { isTTY: terminal.stdout.isTTY === true, shared })
  const open = () => openStore(config.DATABASE_URL, { patience: PATIENCE })

  if (cluster.isWorker) {
    const { work } = await import('../server/worker.ts')
    await work(open, log, config)
    return
  }
  log.info(await start(config), 'ready')
  log.flush()

  async function start({ WORKERS }: Config): Promise<{ address: string; workers?: number }> {
    if (!shared) return { address: await startServer(await open(), log, config) }
    const { lead } = await import('../server/leader.ts')
    return { address: await lead(await open(), log, WORKERS), workers: WORKERS }
  }
}
