import { resolve } from 'node:path'
import type { Command } from 'commander'
import { timestamp } from '../administration/views.ts'
import { locationText } from '../domain/database-location.ts'
import { OperatorError } from '../domain/operator-error.ts'
import type { BackupContents, BackupTarget, Restored } from '../store/opened.ts'
import { commandAuthor, commandLog, readCommandConfig } from './shared/administer.ts'
import { addCommand, type JsonOption, type OutputFailed, print, type Terminal, write } from './shared/terminal.ts'

/** Adds `backup FILE`, which prints its result on standard error if the backup goes to standard output. */
export function addBackup(program: Command, terminal: Terminal): void {
  addCommand(program, 'backup', 'make a copy of the database while the server runs')
    .argument('<file>', 'the file to create or to replace, or - for standard output')
    .option('--without-tokens', 'leave out the tokens: only applications, suites, their secrets and approvals')
    .action(async (file: string, options: JsonOption & { withoutTokens?: boolean }) => {
      const { DATABASE_URL, LOG_LEVEL } = readCommandConfig(terminal)
      const { backUpStore } = await import('../store/open.ts')
      const { withoutTokens = false } = options
      const contents = await backUpStore(DATABASE_URL, targetOf(terminal, file), { withoutTokens, now: Date.now })
      commandLog(terminal, LOG_LEVEL)({ type: 'backup made', file, withoutTokens, ...commandAuthor() })
      const out = file === '-' ? { ...terminal, stdout: terminal.stderr } : terminal
      const text = `Backed up to ${file === '-' ? file : resolve(file)}: ${contentsText(contents)}.`
      await print(out, options, { file, ...contentsView(contents) }, text)
    })
}

function targetOf(terminal: Terminal, file: string): BackupTarget {
  if (file !== '-') return file
  if (terminal.stdout.isTTY)
    throw new OperatorError('Standard output is a terminal: redirect it to a file or a program.')
  return (chunk) =>
    write(terminal, chunk).catch(({ message, cause }: OutputFailed) => {
      // An OutputFailed might end the command silently, but the operator must know that the backup is incomplete.
      throw new OperatorError(message, { cause })
    })
}

function contentsView({ bytes, applications, newestTokenAt, auditHead }: BackupContents) {
  const newest = newestTokenAt === undefined ? null : timestamp(newestTokenAt)
  const audit_head = auditHead ? { ...auditHead, at: timestamp(auditHead.at) } : null
  return { bytes, applications, newest_token_issued_at: newest, audit_head }
}

function contentsText(contents: BackupContents): string {
  const { bytes, applications, newest_token_issued_at: newest, audit_head: head } = contentsView(contents)
  const audit = head ? `event ${head.id} with the hash ${head.hash}` : 'none'
  return `${bytes} bytes, applications: ${applications}, newest token issued: ${newest ?? 'none'}, audit head: ${audit}`
}

export function addRestore(program: Command, terminal: Terminal): void {
  addCommand(program, 'restore', 'replace the database with a backup; the server must be stopped')
    .argument('<file>', 'the backup, or - for standard input')
    .option(
      '--revoke-all-tokens',
      'revoke every token in the backup; otherwise tokens that were revoked since then are valid again',
    )
    .action(async (file: string, options: JsonOption & { revokeAllTokens?: boolean }) => {
      const { DATABASE_URL, LOG_LEVEL } = readCommandConfig(terminal)
      const { restoreStore } = await import('../store/open.ts')
      const { revokeAllTokens = false } = options
      const author = commandAuthor()
      const source = file === '-' ? terminal.stdin : file
      const restored = await restoreStore(DATABASE_URL, source, { revokeAllTokens, now: Date.now, author })
      const { replaced, wasLocked } = restored
      commandLog(terminal, LOG_LEVEL)({ type: 'database restored', file, replaced, revokeAllTokens, ...author })
      const result = { file, ...contentsView(restored), replaced: replaced ?? null, was_locked: wasLocked }
      await print(terminal, options, result, restoredText(locationText(DATABASE_URL), file, restored, revokeAllTokens))
    })
}

function restoredText(database: string, file: string, restored: Restored, revokeAllTokens: boolean): string {
  const lines = [`Restored ${database} from ${file}: ${contentsText(restored)}.`]
  if (restored.replaced)
    lines.push(`The previous database is kept as ${restored.replaced}: delete it when you no longer need it.`)
  if (!restored.wasLocked) {
    lines.push('The previous database was damaged and could not be locked: if a server is running, restart it.')
  }
  lines.push(
    '',
    'Everything since the backup is undone:',
    '- Tokens issued since then are unknown. Their clients get 401 until they ask for new ones: up to an hour.',
    '- Secrets are as they were: those rotated or revoked since then are valid again, new ones are unknown.',
    '- Repeat the suspensions, removals and withdrawals of approvals since then.',
    '- Operators and admin keys are as they were: those removed or revoked since then are valid again. Logins have ended.',
    revokeAllTokens
      ? '- Every token in the backup is revoked.'
      : '- Tokens revoked since then are valid again until they expire. (--revoke-all-tokens revokes them all.)',
    'To see what to repeat, look in the log for the events since the backup that have an actor.',
  )
  if (restored.replaced) lines.push('So does "audit list" on the previous database.')
  return lines.join('\n')
}
