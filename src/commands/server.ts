import type { Command } from 'commander'
import { OperatorError } from '../domain/operator-error.ts'
import { NODE_VERSION, VERSION } from '../version.ts'
import { type CreateOption, createOption, isDefaultPlace, readCommandConfig } from './shared/administer.ts'
import { ENV_FILE, readSettings, watchSettings } from './shared/env-file.ts'
import { addCommand, print, show, type Terminal } from './shared/terminal.ts'

/** Adds `serve`, the only command that loads the code of the server, so that the others start fast. */
export function addServe(program: Command, terminal: Terminal): void {
  const command = program.command('serve').description('run the server').addOption(createOption())
  command.action(async (options: CreateOption) => {
    const config = readSettings(terminal)
    const { create = isDefaultPlace(terminal) } = options
    const settingsNow = watchSettings(ENV_FILE, terminal.env)
    const { serve } = await import('../server/serve.ts')
    await serve(config, { isTTY: terminal.stdout.isTTY === true, settingsNow, create })
  })
}

export function addMigrate(program: Command, terminal: Terminal): void {
  const command = addCommand(program, 'migrate', "migrate the database to this program's version")
  command.action(async (options) => {
    const { DATABASE_URL } = readCommandConfig(terminal)
    const { openStore } = await import('../store/open.ts')
    const store = await openStore(DATABASE_URL, { lockTimeout: 0 })
    await store.close()
    const { from, to } = store.migrated
    const isNew = from !== to
    const words = isNew
      ? `Migrated the database from version ${from} to ${to}.`
      : `The database is already at version ${to}.`
    await print(terminal, options, { from, to }, words)
  })
}

/** Adds `healthcheck`, for containers without a shell. */
export function addHealthcheck(program: Command, terminal: Terminal): void {
  addCommand(program, 'healthcheck', 'ask the running server whether it is ready').action(async (options) => {
    const { addressOf, ask } = await import('../doctor/listeners.ts')
    const { READY_PATH } = await import('../http/metadata.ts')
    const { HOST, PORT, TLS_CERT_FILE } = readSettings(terminal)
    if (PORT === 0) throw new OperatorError('PORT is 0, so the port of the server is not known: set a fixed one.')
    const address = addressOf(HOST, PORT, TLS_CERT_FILE !== undefined)
    const { status = 'no answer' } = await ask(`${address}${READY_PATH}`)
    if (status !== 200) throw new OperatorError(`The server at ${address} is not ready: ${status}.`)
    await print(terminal, options, { address, status: 'ready' }, 'The server is ready.')
  })
}

/** Adds `version`, for bug reports. */
export function addVersion(program: Command, terminal: Terminal): void {
  addCommand(program, 'version', 'print the versions of this program, Node.js and SQLite').action(async (options) => {
    const { sqliteVersion } = await import('../store/open.ts')
    const versions = { version: VERSION, node: NODE_VERSION, sqlite: await sqliteVersion() }
    const words = `token-server ${versions.version}\nNode.js ${versions.node}\nSQLite ${versions.sqlite}`
    await show(terminal, options, versions, words)
  })
}
