import { readConfig } from '../config.ts'
import { createLog } from '../log.ts'
import { openStore } from '../store/open.ts'
import { startServer } from './server.ts'
import type { Terminal } from './terminal.ts'

/** How long a call may block the server for another process, in milliseconds; a commit tries again without blocking. */
const BUSY_TIMEOUT = 20

/** `serve`: migrate, listen, log one line when ready. */
export async function serve(terminal: Terminal): Promise<void> {
  const config = readConfig(terminal.env)
  const log = await createLog(config.LOG_LEVEL, { isTTY: terminal.stdout.isTTY === true })
  const store = await openStore(config.DATABASE_URL, { busyTimeout: BUSY_TIMEOUT })
  const address = await startServer(store, log, config)
  log.info({ address }, 'ready')
  log.flush()
}
