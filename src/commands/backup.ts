import { Command } from 'commander'
import { timestamp } from '../administration/views.ts'
import { locationText } from '../domain/database-location.ts'
import { OperatorError } from '../domain/operator-error.ts'
import type { BackupTarget, CopyContents, Restored } from '../store/opened.ts'
import { commandAuthor, commandLog, readCommandConfig } from './shared/administer.ts'
import { type OutputFailed, print, type Terminal, withJson, write } from './shared/terminal.ts'

interface BackupOptions {
  withoutTokens?: boolean
  json?: boolean
}

/** `backup FILE`: a copy of the store, which may be in use meanwhile. Its result is on standard error where the copy is not. */
export function backupCommand(terminal: Terminal): Command {
  return withJson(new Command('backup'))
    .description('make a copy of the database while the server runs')
    .argument('<file>', 'the file to make or to replace, - for standard output')
    .option('--without-tokens', 'leave out the tokens: only applications, suites, their secrets and approvals')
    .action(async (file: string, options: BackupOptions) => {
      const { DATABASE_URL, LOG_LEVEL } = readCommandConfig(terminal)
      const { backUpStore } = await import('../store/open.ts')
      const withoutTokens = options.withoutTokens === true
      const contents = await backUpStore(DATABASE_URL, targetOf(terminal, file), { withoutTokens, now: Date.now })
      const observe = await commandLog(terminal, LOG_LEVEL)
      observe({ type: 'backup made', file, withoutTokens, ...commandAuthor() })
      const out = file === '-' ? { ...terminal, stdout: terminal.stderr } : terminal
      await print(out, options, { file, ...contentsView(contents) }, `Backed up to ${file}: ${contentsText(contents)}.`)
    })
}

function targetOf(terminal: Terminal, file: string): BackupTarget {
  if (file !== '-') return file
  if (terminal.stdout.isTTY)
    throw new OperatorError('Standard output is a terminal: send it to a file or to a program.')
  return (chunk) =>
    write(terminal, chunk).catch(({ message, cause }: OutputFailed) => {
      // Not an end without a word: half a backup is none.
      throw new OperatorError(message, { cause })
    })
}

/** What a backup has in it, as JSON. */
function contentsView({ bytes, applications, newestTokenAt }: CopyContents) {
  const newest = newestTokenAt === undefined ? null : timestamp(newestTokenAt)
  return { bytes, applications, newest_token_issued_at: newest }
}

/** What a backup has in it, in words. */
function contentsText(contents: CopyContents): string {
  const { bytes, applications, newest_token_issued_at: newest } = contentsView(contents)
  return `${bytes} bytes, applications: ${applications}, newest token issued: ${newest ?? 'none'}`
}

interface RestoreOptions {
  revokeAllTokens?: boolean
  json?: boolean
}

/** `restore FILE`: puts a backup in the place of the store, and says what that undoes. */
export function restoreCommand(terminal: Terminal): Command {
  return withJson(new Command('restore'))
    .description('put a backup in the place of the database; the server must be stopped')
    .argument('<file>', 'the backup, - for standard input')
    .option(
      '--revoke-all-tokens',
      'make every token in the backup invalid, so that none that was revoked since is valid',
    )
    .action(async (file: string, options: RestoreOptions) => {
      const { DATABASE_URL, LOG_LEVEL } = readCommandConfig(terminal)
      const { restoreStore } = await import('../store/open.ts')
      const revokeAllTokens = options.revokeAllTokens === true
      const author = commandAuthor()
      const source = file === '-' ? terminal.stdin : file
      const restored = await restoreStore(DATABASE_URL, source, { revokeAllTokens, now: Date.now, author })
      const { replaced, wasLocked } = restored
      const observe = await commandLog(terminal, LOG_LEVEL)
      observe({ type: 'database restored', file, replaced, revokeAllTokens, ...author })
      const result = { file, ...contentsView(restored), replaced: replaced ?? null, was_locked: wasLocked }
      await print(terminal, options, result, restoredText(locationText(DATABASE_URL), file, restored, revokeAllTokens))
    })
}

function restoredText(database: string, file: string, restored: Restored, revokeAllTokens: boolean): string {
  const lines = [`Restored ${database} from ${file}: ${contentsText(restored)}.`]
  if (restored.replaced) lines.push(`What was there before is ${restored.replaced}; delete it when you are sure.`)
  if (!restored.wasLocked) {
    lines.push('It was damaged, so it was not certain that no server uses it: one that runs must be restarted.')
  }
  lines.push(
    '',
    'Everything since the backup is undone:',
    '- Tokens issued since then are unknown. Their clients get 401 until they ask for new ones: up to an hour.',
    '- Secrets rotated or revoked since then are valid as they were: old secrets live again, new ones are unknown.',
    '- Suspensions, removals and withdrawn approvals since then have to be made again.',
    '- Operators and admin keys are as they were: those removed or revoked since then live again. Logins have ended.',
    revokeAllTokens
      ? '- Every token in the backup is revoked.'
      : '- Tokens revoked since then are valid again until they expire. (--revoke-all-tokens revokes all.)',
    'The log says what to do again: see its events since the backup that have an actor.',
  )
  if (restored.replaced) lines.push('So does "audit list" on what was there before.')
  return lines.join('\n')
}
