import { readConfig } from '../config.ts'
import { createLog } from '../log.ts'
import { openStore } from '../store/open.ts'
import { startServer } from './server.ts'
import type { Terminal } from './terminal.ts'

/** How long a request waits for another process that has locked the store, in milliseconds; then it gets a 503. */
const PATIENCE = 2000

/** `serve`: migrate, listen, log one line when ready. */
export async function serve(terminal: Terminal): Promise<void> {
  const config = readConfig(terminal.env)
  const log = await createLog(config.LOG_LEVEL, { isTTY: terminal.stdout.isTTY === true })
  const store = await openStore(config.DATABASE_URL, { patience: PATIENCE })
  const address = await startServer(store, log, config)
  log.info({ address }, 'ready')
  log.flush()
}
