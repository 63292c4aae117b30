import { Command } from 'commander'
import { type Config, readConfig } from '../config.ts'
import {
  locationText,
  type PostgresLocation,
  parseDatabaseUrl,
  type SqliteLocation,
} from '../domain/database-location.ts'
import { OperatorError } from '../domain/operator-error.ts'
import type { Copied } from '../store/copy.ts'
import { commandAuthor, commandLog, LOCK_TIMEOUT_MS, readCommandConfig } from './shared/administer.ts'
import { type JsonOption, print, say, type Terminal, withJson } from './shared/terminal.ts'

/** How often progress is told, in milliseconds. */
const ON_TERMINAL_MS = 1000
const ELSEWHERE_MS = 10_000

/** `store …`: the store as a whole, and where it is. */
export function storeCommand(terminal: Terminal): Command {
  const store = new Command('store').description('move the store to another database')

  withJson(store.command('copy'))
    .description('copy a SQLite store to an empty PostgreSQL database while the server runs')
    .requiredOption('--to <url>', 'the database, as in DATABASE_URL; without a password')
    .action(async (options: JsonOption & { to: string }) => {
      const { DATABASE_URL, LOG_LEVEL } = readCommandConfig(terminal)
      const author = commandAuthor()
      const from = sourceOf(DATABASE_URL)
      const to = targetOf(terminal, options.to)
      const { copyStore } = await import('../store/open.ts')
      const copied = await copyStore(from, to, {
        lockTimeout: LOCK_TIMEOUT_MS,
        now: Date.now,
        author,
        onProgress: createProgress(terminal, options),
      })
      const database = locationText(from)
      const movedTo = locationText(to)
      const { applications, suites, tokens } = copied
      const observe = await commandLog(terminal, LOG_LEVEL)
      observe({
        type: 'database copied',
        database,
        movedTo,
        applications,
        suites,
        tokens,
        ...author,
      })
      await print(terminal, options, { database, moved_to: movedTo, ...copied }, copiedText(database, movedTo, copied))
    })

  withJson(store.command('reopen'))
    .description('make it possible again to change a store that was copied, to go on with it')
    .action(async (options: JsonOption) => {
      const { DATABASE_URL, LOG_LEVEL } = readCommandConfig(terminal)
      const { reopenStore } = await import('../store/open.ts')
      const database = locationText(DATABASE_URL)
      const author = commandAuthor()
      const audit = { author, at: Date.now() }
      const movedTo = await reopenStore(sourceOf(DATABASE_URL), audit, { lockTimeout: LOCK_TIMEOUT_MS })
      if (movedTo !== undefined) {
        const observe = await commandLog(terminal, LOG_LEVEL)
        observe({ type: 'database reopened', database, movedTo, ...author })
      }
      await print(terminal, options, { database, moved_to: movedTo ?? null }, reopenedText(database, movedTo))
    })

  return store
}

/** Throws OperatorError where the store is not one that can be moved. */
function sourceOf(location: Config['DATABASE_URL']): SqliteLocation {
  if (location.kind === 'sqlite') return location
  throw new OperatorError(
    'DATABASE_URL names a store on PostgreSQL: name the SQLite store that is to move, or has moved.',
  )
}

/** Throws OperatorError where a store cannot be copied there. */
function targetOf({ env }: Terminal, to: string): PostgresLocation {
  let hasPassword = false
  try {
    const location = parseDatabaseUrl(to)
    hasPassword = location.kind === 'postgres' && location.password !== undefined
  } catch (error) {
    throw new OperatorError(`--to ${(error as SyntaxError).message}.`)
  }
  if (hasPassword) {
    throw new OperatorError(
      '--to has a password, which others on this machine can see: use DATABASE_PASSWORD_FILE, PGPASSWORD or PGPASSFILE.',
    )
  }
  const { DATABASE_URL } = readConfig({ ...env, DATABASE_URL: to })
  if (DATABASE_URL.kind === 'postgres') return DATABASE_URL
  throw new OperatorError('--to must name a database on PostgreSQL: postgres://USER@HOST/DATABASE.')
}

/** Progress that is told now and then. */
function createProgress(terminal: Terminal, options: JsonOption) {
  const interval = terminal.stderr.isTTY ? ON_TERMINAL_MS : ELSEWHERE_MS
  let toldAt = performance.now()
  return (table: string, rows: number) => {
    if (performance.now() < toldAt + interval) return
    toldAt = performance.now()
    say(terminal, options, 'progress', `${table.replace('_', ' ')}: ${rows.toLocaleString('en')}`)
  }
}

function copiedText(database: string, movedTo: string, copied: Copied): string {
  const { applications, suites, secrets, approvals, operators, admin_keys, audit_events, tokens } = copied
  const access = `operators: ${operators}, admin keys: ${admin_keys}, audit events: ${audit_events}`
  return [
    `Copied ${database} to ${movedTo}: applications: ${applications}, suites: ${suites}, secrets: ${secrets}, approvals: ${approvals}, ${access}, tokens: ${tokens}.`,
    'What is there now was compared with what is here.',
    '',
    `From now on commands refuse to change ${database}; the server goes on issuing, checking and revoking tokens there.`,
    'Next: restart it with the new DATABASE_URL, and with',
    `  PREVIOUS_DATABASE_URL=sqlite:${database}`,
    'for an hour, in which it looks up tokens there that it does not find.',
  ].join('\n')
}

function reopenedText(database: string, movedTo: string | undefined): string {
  if (movedTo === undefined) return `The store ${database} was not copied to another one: it is as it was.`
  return [
    `The store ${database} can be changed again.`,
    `If a server has served ${movedTo} meanwhile, that is undone for who asks this store:`,
    '- Tokens issued there are unknown here. Their clients get 401 until they ask for new ones: up to an hour.',
    '- Tokens revoked there are valid here until they expire.',
    '- What was registered, changed, suspended or removed there has to be done again here.',
    'To move again, empty that database first.',
  ].join('\n')
}
