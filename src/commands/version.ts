import { Command } from 'commander'
import { NODE_VERSION, VERSION } from '../version.ts'
import { show, type Terminal, withJson } from './shared/terminal.ts'

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
