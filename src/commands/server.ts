import { Command } from 'commander'
import { readConfig } from '../config.ts'
import { addressOf, ask } from '../doctor/listeners.ts'
import { OperatorError } from '../domain/operator-error.ts'
import { NODE_VERSION, VERSION } from '../version.ts'
import { readCommandConfig } from './shared/administer.ts'
import { ENV_FILE, watchSettings } from './shared/env-file.ts'
import { print, show, type Terminal, withJson } from './shared/terminal.ts'

/** `serve`: the server. Its code is loaded only here, so that the other commands start fast. */
export function serveCommand(terminal: Terminal): Command {
  return new Command('serve').description('run the server').action(async () => {
    const config = readConfig(terminal.env)
    const settingsNow = watchSettings(ENV_FILE, terminal.env)
    const { serve } = await import('../server/serve.ts')
    await serve(config, { isTTY: terminal.stdout.isTTY === true, settingsNow })
  })
}

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

/** `healthcheck`: asks the server of these settings whether it is ready; for containers without a shell. */
export function healthcheckCommand(terminal: Terminal): Command {
  const command = withJson(new Command('healthcheck')).description('ask the running server whether it is ready')
  return command.action(async (options) => {
    const { READY_PATH } = await import('../http/metadata.ts')
    const { HOST, PORT } = readConfig(terminal.env)
    if (PORT === 0) throw new OperatorError('PORT is 0, so nobody knows which port the server has: give it one.')
    const address = addressOf(HOST, PORT)
    const { status = 'no answer' } = await ask(`${address}${READY_PATH}`)
    if (status !== 200) throw new OperatorError(`The server at ${address} is not ready: ${status}.`)
    await print(terminal, options, { address, status: 'ready' }, 'The server is ready.')
  })
}

/** `version`: what runs, for a report of a bug. `--version` is the first of it. */
export function versionCommand(terminal: Terminal): Command {
  return withJson(new Command('version'))
    .description('say which version this is, and those of what it runs on')
    .action(async (options) => {
      const { sqliteVersion } = await import('../store/open.ts')
      const versions = { version: VERSION, node: NODE_VERSION, sqlite: await sqliteVersion() }
      const words = `token-server ${versions.version}\nNode.js ${versions.node}\nSQLite ${versions.sqlite}`
      await show(terminal, options, versions, words)
    })
}
