import { Command } from 'commander'
import { readConfig } from '../config.ts'
import { ENV_FILE, watchSettings } from './shared/env-file.ts'
import type { Terminal } from './shared/terminal.ts'

/** `serve`: the server. Its code is loaded only here, so that the other commands start fast. */
export function serveCommand(terminal: Terminal): Command {
  return new Command('serve').description('run the server').action(async () => {
    const config = readConfig(terminal.env)
    const settingsNow = watchSettings(ENV_FILE, terminal.env)
    const { serve } = await import('../server/serve.ts')
    await serve(config, { isTTY: terminal.stdout.isTTY === true, settingsNow })
  })
}
