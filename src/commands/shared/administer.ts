import { hostname, userInfo } from 'node:os'
import { Option } from 'commander'
import { type Administration, createAdministration } from '../../administration/administration.ts'
import { type Config, readConfig } from '../../config.ts'
import type { Author } from '../../domain/audit-event.ts'
import { isInMemory } from '../../domain/database-location.ts'
import type { Observer } from '../../domain/events.ts'
import { OperatorError } from '../../domain/operator-error.ts'
import { createAuditLog } from '../../telemetry/audit-log.ts'
import { createLineLog, createTerminalLog } from '../../telemetry/log.ts'
import type { Terminal } from './terminal.ts'

/** How long a command waits for a server that is writing. */
export const LOCK_TIMEOUT_MS = 10_000

/** Whether a command that registers was given `--create`. */
export interface CreateOption {
  create?: boolean | undefined
}

/** What the first command may be given that registers something: without it a wrong DATABASE_URL would make a database. */
export function createOption(): Option {
  return new Option('--create', 'make the database where there is none')
}

/**
 * Does something to the store that DATABASE_URL names; a running server sees it from the next request on. Changes are
 * logged on standard error, with who made them: results go to standard output. Throws OperatorError where there is no
 * store, unless `create` says to make one: what is asked of an empty store is mostly a mistake in DATABASE_URL.
 */
export async function administer<Result>(
  terminal: Terminal,
  action: (administration: Administration) => Promise<Result>,
  { create = false }: CreateOption = {},
): Promise<Result> {
  const { DATABASE_URL, LOG_LEVEL } = readCommandConfig(terminal)
  const { openStore } = await import('../../store/open.ts')
  const observe = await commandLog(terminal, LOG_LEVEL)
  const store = await openStore(DATABASE_URL, { lockTimeout: LOCK_TIMEOUT_MS, create })
  try {
    return await action(createAdministration({ store, now: Date.now, observe, author: commandAuthor() }))
  } finally {
    await store.close()
  }
}

/** The settings of a command. Throws OperatorError where they are wrong, or where what it does would be gone at its end. */
export function readCommandConfig({ env }: Terminal): Config {
  const config = readConfig(env)
  if (!isInMemory(config.DATABASE_URL)) return config
  throw new OperatorError('DATABASE_URL names a store in memory, which ends with its command: name a file.')
}

/** The log of what commands change, on standard error: JSON lines; coloured lines for people on a terminal. */
export async function commandLog({ stderr }: Terminal, level: Config['LOG_LEVEL']): Promise<Observer> {
  const create = stderr.isTTY ? createTerminalLog : createLineLog
  return createAuditLog(await create(level, (text) => stderr.write(text)))
}

/** The author of changes made by a command. */
export function commandAuthor(): Author {
  return { actor: operatingSystemUser(), origin: 'command line', remoteAddress: hostname() }
}

/** The name of the user whose process this is; the number where it has no name, as in a container. */
export function operatingSystemUser(read: () => { username: string } = userInfo): string {
  try {
    return read().username
  } catch {
    return `uid ${process.getuid?.()}`
  }
}
