import type { Config } from '../config.ts'
import type { Observer } from '../domain/events.ts'
import { openPrevious, openStore } from '../store/open.ts'
import type { Opened, OpenOptions } from '../store/opened.ts'
import { withPrevious } from '../store/previous.ts'

/**
 * Opens the store of a server; with the one that was copied to it, where that is to be asked for tokens, too. `observe` is told
 * what one process of the server says for all.
 */
export async function openStores(
  { DATABASE_URL, PREVIOUS_DATABASE_URL }: Pick<Config, 'DATABASE_URL' | 'PREVIOUS_DATABASE_URL'>,
  options: OpenOptions,
  observe: Observer,
): Promise<Opened> {
  const previous = PREVIOUS_DATABASE_URL && (await openPrevious(PREVIOUS_DATABASE_URL, options))
  const store = await openStore(DATABASE_URL, options)
  const { movedTo } = store
  if (movedTo !== undefined) observe({ type: 'database has moved', movedTo })
  return previous ? withPrevious(store, previous, { now: Date.now, observe }) : store
}
