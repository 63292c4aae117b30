import { readFileSync } from 'node:fs'
import { Command } from 'commander'
import { applicationsCommand } from './commands/applications.ts'
import { backupCommand } from './commands/backup.ts'
import { demoCommand } from './commands/demo.ts'
import { healthcheckCommand } from './commands/healthcheck.ts'
import { migrateCommand } from './commands/migrate.ts'
import { restoreCommand } from './commands/restore.ts'
import { secretsCommand } from './commands/secrets.ts'
import { seedCommand } from './commands/seed.ts'
import { serveCommand } from './commands/serve.ts'
import { runCommand, runProcess } from './commands/shared/process.ts'
import type { Terminal } from './commands/shared/terminal.ts'
import { suitesCommand } from './commands/suites.ts'
import { tokensCommand } from './commands/tokens.ts'

/** The command line. Resolves to the exit status; after `serve` and `demo` the process lives on. */
export async function main(args: string[], terminal: Terminal): Promise<number> {
  const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
  const program = new Command('token-server')
    .description('An OAuth 2.0 token server for machine-to-machine clients.')
    .version(version)
    .addCommand(serveCommand(terminal))
    .addCommand(migrateCommand(terminal))
    .addCommand(seedCommand(terminal))
    .addCommand(applicationsCommand(terminal))
    .addCommand(suitesCommand(terminal))
    .addCommand(secretsCommand(terminal))
    .addCommand(tokensCommand(terminal))
    .addCommand(backupCommand(terminal))
    .addCommand(restoreCommand(terminal))
    .addCommand(healthcheckCommand(terminal))
    .addCommand(demoCommand(terminal))
  return runCommand(program, args, terminal)
}

if (import.meta.main) await runProcess(() => main(process.argv.slice(2), process))
