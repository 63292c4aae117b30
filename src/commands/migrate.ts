import { Command } from 'commander'
import { readCommandConfig } from './shared/administer.ts'
import { print, type Terminal, withJson } from './shared/terminal.ts'

/** `migrate`: brings the store to this program's version, as every other command does on its way. */
export function migrateCommand(terminal: Terminal): Command {
  return withJson(new Command('migrate'))
    .description("bring the database to this program's version")
    .action(async (options) => {
      const { DATABASE_URL } = readCommandConfig(terminal)
      const { openStore } = await import('../store/open.ts')
      const store = await openStore(DATABASE_URL, { lockTimeout: 0 })
      await store.close()
      const { from, to } = store.migrated
      const words =
        from === to
          ? `The database is already at version ${to}.`
          : `Migrated the database from version ${from} to ${to}.`
      await print(terminal, options, { from, to }, words)
    })
}
