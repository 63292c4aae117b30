import { existsSync, readFileSync } from 'node:fs'
import { enableCompileCache } from 'node:module'
import { join } from 'node:path'
import { Command, CommanderError } from 'commander'
import { applicationsCommand } from './commands/applications.ts'
import { migrateCommand } from './commands/migrate.ts'
import { secretsCommand } from './commands/secrets.ts'
import { seedCommand } from './commands/seed.ts'
import type { Terminal } from './commands/shared/terminal.ts'
import { suitesCommand } from './commands/suites.ts'
import { tokensCommand } from './commands/tokens.ts'

const FAILED = 1
const WRONG_USAGE = 2

/** The command line. Returns the exit status; after `serve` and `demo` the process lives on. */
export async function main(args: string[], terminal: Terminal): Promise<number> {
  const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
  const program = new Command('token-server')
    .description('An OAuth 2.0 token server for machine-to-machine clients.')
    .version(version)

  program
    .command('serve')
    .description('run the server')
    .action(async () => (await import('./commands/serve.ts')).serve(terminal))
  program.addCommand(migrateCommand(terminal))
  program.addCommand(seedCommand(terminal))
  program.addCommand(applicationsCommand(terminal))
  program.addCommand(suitesCommand(terminal))
  program.addCommand(secretsCommand(terminal))
  program.addCommand(tokensCommand(terminal))
  program
    .command('healthcheck')
    .description('ask the running server whether it is ready')
    .action(async () => (await import('./commands/healthcheck.ts')).healthcheck(terminal))
  program
    .command('demo')
    .description('run a throw-away server with one application, on this machine only')
    .action(async () => (await import('./commands/demo.ts')).demo(terminal))

  adopt(program, terminal)
  try {
    await program.parseAsync(args, { from: 'user' })
    return 0
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : WRONG_USAGE
    terminal.stderr.write(`${(error as Error).message}\n`)
    return FAILED
  }
}

/** Makes a command and those below it write to the terminal, and throw where Commander would exit. */
function adopt(command: Command, terminal: Terminal): void {
  command.exitOverride().configureOutput({
    writeOut: (text) => terminal.stdout.write(text),
    writeErr: (text) => terminal.stderr.write(text),
  })
  for (const child of command.commands) adopt(child, terminal)
}

if (import.meta.main) {
  process.stdout.on('error', (error) => {
    process.stderr.write(`What was asked for was done, but its result could not be written: ${error.message}\n`)
    process.exit(FAILED)
  })
  // What was compiled once starts in two thirds of the time. In the program's own folder, where nobody else can write;
  // without it where that is read-only.
  enableCompileCache(join(import.meta.dirname, '../node_modules/.cache/compiled'))
  if (existsSync('.env')) process.loadEnvFile('.env')
  process.exitCode = await main(process.argv.slice(2), process)
}
