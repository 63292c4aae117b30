import { Command } from 'commander'
import { locationText } from '../domain/database-location.ts'
import type { Restored } from '../store/opened.ts'
import { contentsText, contentsView } from './backup.ts'
import { commandAuthor, commandLog, readCommandConfig } from './shared/administer.ts'
import { print, type Terminal, withJson } from './shared/terminal.ts'

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
