import { hostname, userInfo } from 'node:os'
import { Option } from 'commander'
import type { Administration, Conditions } from '../../administration/administration.ts'
import { type Config, settings } from '../../config.ts'
import type { Author } from '../../domain/audit-event.ts'
import { isInMemory, locationText } from '../../domain/database-location.ts'
import type { Observer } from '../../domain/events.ts'
import { OperatorError } from '../../domain/operator-error.ts'
import { visibleOnOneLine } from '../../domain/text.ts'
import { StoreMissing } from '../../store/opened.ts'
import { createAuditLog } from '../../telemetry/audit-log.ts'
import { createLineLog, createTerminalLog } from '../../telemetry/log.ts'
import { readSettings } from './env-file.ts'
import type { Terminal } from './terminal.ts'

/** How long a command waits for the locks of a server. */
export const LOCK_TIMEOUT_MS = 10_000

/** Whether to create a missing database. By default it is an error: DATABASE_URL is probably wrong. */
export interface CreateOption {
  create?: boolean | undefined
}

export function createOption(): Option {
  return new Option('--create', 'create the database if it does not exist')
}

/** Elsewhere a missing database is probably a wrong setting, and an empty one would refuse every client. */
export function isDefaultPlace({ env: { DATABASE_URL } }: Pick<Terminal, 'env'>): boolean {
  return [undefined, settings.DATABASE_URL.default].includes(DATABASE_URL)
}

interface AdministerOptions extends CreateOption {
  /** Whether to use an empty store in memory if there is none. */
  dryRun?: boolean | undefined
  /** Called before a missing store is created or replaced by one in memory. */
  onMissing?: (place: string) => void
}

/**
 * Runs an action on the store that DATABASE_URL names. Logs changes on standard error; a running server sees them from the next
 * request on. `on` returns the same administration, with conditions for its changes.
 */
export async function administer<Result>(
  terminal: Terminal,
  action: (administration: Administration, on: (conditions: Conditions) => Administration) => Promise<Result>,
  { create = false, dryRun = false, onMissing }: AdministerOptions = {},
): Promise<Result> {
  const { DATABASE_URL, LOG_LEVEL, PUBLIC_URL: publicUrl } = readCommandConfig(terminal)
  const { createAdministration } = await import('../../administration/administration.ts')
  const { openStore } = await import('../../store/open.ts')
  const observe = commandLog(terminal, LOG_LEVEL)
  const options = { lockTimeout: LOCK_TIMEOUT_MS, create: false }
  const store = await openStore(DATABASE_URL, options).catch((error) => {
    if (!(error instanceof StoreMissing && (create || dryRun))) throw error
    onMissing?.(locationText(DATABASE_URL))
    return openStore(dryRun ? { kind: 'sqlite', file: ':memory:' } : DATABASE_URL, { ...options, create: true })
  })
  try {
    const given = { store, now: Date.now, observe, author: commandAuthor(), publicUrl }
    const on = (conditions?: Conditions) => createAdministration({ ...given, conditions })
    return await action(on(), on)
  } finally {
    await store.close()
  }
}

/** Reads the settings of a command. Throws OperatorError if they are invalid, or if the store is in memory. */
export function readCommandConfig(terminal: Terminal): Config {
  const config = readSettings(terminal)
  if (!isInMemory(config.DATABASE_URL)) return config
  throw new OperatorError(
    'DATABASE_URL names a store in memory, which would be lost when the command ends: name a file.',
  )
}

/** The log of changes by commands, on standard error: JSON lines; on a terminal, coloured text. */
export function commandLog({ stderr }: Terminal, level: Config['LOG_LEVEL']): Observer {
  const create = stderr.isTTY ? createTerminalLog : createLineLog
  return createAuditLog(create(level, (text) => stderr.write(text)))
}

export function commandAuthor(): Author {
  return { actor: commandUser(process.env), origin: 'command line', remoteAddress: hostname() }
}

/**
 * Who runs a command: the user of this process, or its number if it has no name, as in a container. A caller of sudo comes first,
 * as in `anna (root)`, but never alone: anybody can set that variable.
 */
export function commandUser({ SUDO_USER }: NodeJS.ProcessEnv, read: () => { username: string } = userInfo): string {
  let user = `uid ${process.getuid?.()}`
  try {
    user = read().username
  } catch {}
  const isNamed = SUDO_USER && SUDO_USER !== user && visibleOnOneLine(SUDO_USER) === SUDO_USER
  return isNamed ? `${SUDO_USER} (${user})` : user
}
