import { type Administration, createAdministration } from '../../administration/administration.ts'
import { readConfig } from '../../config.ts'
import type { Terminal } from './terminal.ts'

/** How long a command waits for a server that is writing, in milliseconds. */
const PATIENCE = 10_000

/** Does one thing to the store that DATABASE_URL names. A server that runs on it believes it from the next request on. */
export async function administer<Result>(
  terminal: Terminal,
  action: (administration: Administration) => Promise<Result>,
): Promise<Result> {
  const { DATABASE_URL } = readConfig(terminal.env)
  const { openStore } = await import('../../store/open.ts')
  const store = await openStore(DATABASE_URL, { patience: PATIENCE })
  try {
    return await action(createAdministration({ store, now: Date.now }))
  } finally {
    await store.close()
  }
}
