import type { Command } from 'commander'
import { readConfig } from '../config.ts'
import {
  type DatabaseLocation,
  locationText,
  type PostgresLocation,
  parseDatabaseUrl,
} from '../domain/database-location.ts'
import { OperatorError } from '../domain/operator-error.ts'
import type { Copied } from '../store/copy.ts'
import { commandAuthor, commandLog, LOCK_TIMEOUT_MS, readCommandConfig } from './shared/administer.ts'
import { addCommand, createProgress, type JsonOption, print, type Terminal } from './shared/terminal.ts'

export function addStore(program: Command, terminal: Terminal): void {
  const store = program.command('store').description('move the store to another database')

  addCommand(store, 'copy', 'copy a SQLite store to an empty PostgreSQL database while the server runs')
    .requiredOption('--to <url>', 'the database, as in DATABASE_URL but without a password')
    .action(async (options: JsonOption & { to: string }) => {
      const { DATABASE_URL, LOG_LEVEL } = readCommandConfig(terminal)
      const author = commandAuthor()
      const from = sourceOf(DATABASE_URL)
      const to = targetOf(terminal, options.to)
      const progress = createProgress(terminal, options)
      const { copyStore } = await import('../store/open.ts')
      const copied = await copyStore(from, to, {
        lockTimeout: LOCK_TIMEOUT_MS,
        now: Date.now,
        author,
        onProgress: (table, rows) => progress(`${table.replace('_', ' ')}: ${rows.toLocaleString('en')}`),
      }).catch(aboutTarget)
      const database = locationText(from)
      const movedTo = locationText(to)
      const { applications, suites, tokens } = copied
      const observe = commandLog(terminal, LOG_LEVEL)
      observe({ type: 'database copied', database, movedTo, applications, suites, tokens, ...author })
      await print(terminal, options, { database, moved_to: movedTo, ...copied }, copiedText(database, movedTo, copied))
    })

  const reopen = addCommand(store, 'reopen', 'allow changes again in a store that was copied, to keep using it')
  reopen.action(async (options: JsonOption) => {
    const { DATABASE_URL, LOG_LEVEL } = readCommandConfig(terminal)
    const { reopenStore } = await import('../store/open.ts')
    const database = locationText(DATABASE_URL)
    const author = commandAuthor()
    const audit = { author, at: Date.now() }
    const movedTo = await reopenStore(sourceOf(DATABASE_URL), audit, { lockTimeout: LOCK_TIMEOUT_MS })
    if (movedTo !== undefined) {
      commandLog(terminal, LOG_LEVEL)({ type: 'database reopened', database, movedTo, ...author })
    }
    await print(terminal, options, { database, moved_to: movedTo ?? null }, reopenedText(database, movedTo))
  })
}

function sourceOf(location: DatabaseLocation) {
  if (location.kind === 'sqlite') return location
  throw new OperatorError('DATABASE_URL names a store on PostgreSQL: name the SQLite store instead.')
}

function targetOf({ env }: Terminal, to: string): PostgresLocation {
  try {
    const location = parseDatabaseUrl(to)
    if (location.kind === 'sqlite') {
      throw new SyntaxError('must name a database on PostgreSQL: postgres://USER@HOST/DATABASE')
    }
    if (location.password !== undefined) {
      const instead = 'DATABASE_PASSWORD_FILE, PGPASSWORD or PGPASSFILE'
      throw new SyntaxError(`has a password, which other users of this machine can see: use ${instead}`)
    }
  } catch (error) {
    throw new OperatorError(`--to ${(error as SyntaxError).message}.`)
  }
  return readConfig({ ...env, DATABASE_URL: to }).DATABASE_URL as PostgresLocation
}

/** Of the two databases only the target is on PostgreSQL. */
function aboutTarget(error: unknown): never {
  const { message } = error as Error
  throw Object.assign(error as Error, { message: message.replace(/(address|database) in DATABASE_URL/, '$1 in --to') })
}

function copiedText(database: string, movedTo: string, copied: Copied): string {
  const { applications, suites, secrets, approvals, operators, admin_keys, audit_events, tokens } = copied
  const access = `operators: ${operators}, admin keys: ${admin_keys}, audit events: ${audit_events}`
  return [
    `Copied ${database} to ${movedTo}: applications: ${applications}, suites: ${suites}, secrets: ${secrets}, approvals: ${approvals}, ${access}, tokens: ${tokens}.`,
    'The copy was compared with the original.',
    '',
    `From now on commands refuse to change ${database}; its server still issues, checks and revokes tokens.`,
    'Next: restart the server with the new DATABASE_URL, and with',
    `  PREVIOUS_DATABASE_URL=sqlite:${database}`,
    'for an hour, so that it also finds the tokens that are only there.',
  ].join('\n')
}

function reopenedText(database: string, movedTo: string | undefined): string {
  if (movedTo === undefined) return `The store ${database} was not copied to another one: nothing was changed.`
  return [
    `The store ${database} can be changed again.`,
    `If a server has used ${movedTo} in the meantime, its changes are missing here:`,
    '- Tokens issued there are unknown here. Their clients get 401 until they ask for new ones: up to an hour.',
    '- Tokens revoked there are valid here until they expire.',
    '- Repeat here what was registered, changed, suspended or removed there.',
    'To move again, empty that database first.',
  ].join('\n')
}
