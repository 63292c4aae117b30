import { Command } from 'commander'
import { timestamp } from '../administration/views.ts'
import { OperatorError } from '../domain/operator-error.ts'
import type { BackupTarget, CopyContents } from '../store/opened.ts'
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
export function contentsView({ bytes, applications, newestTokenAt }: CopyContents) {
  const newest = newestTokenAt === undefined ? null : timestamp(newestTokenAt)
  return { bytes, applications, newest_token_issued_at: newest }
}

/** What a backup has in it, in words. */
export function contentsText(contents: CopyContents): string {
  const { bytes, applications, newest_token_issued_at: newest } = contentsView(contents)
  return `${bytes} bytes, applications: ${applications}, newest token issued: ${newest ?? 'none'}`
}
