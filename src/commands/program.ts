import { Command } from 'commander'
import { VERSION } from '../version.ts'
import { applicationsCommand, tokensCommand } from './applications.ts'
import { auditCommand } from './audit.ts'
import { backupCommand, restoreCommand } from './backup.ts'
import { consoleCommand } from './console.ts'
import { demoCommand } from './demo.ts'
import { doctorCommand } from './doctor.ts'
import { operatorsCommand } from './operators.ts'
import { secretsCommand } from './secrets.ts'
import { seedCommand } from './seed.ts'
import { healthcheckCommand, migrateCommand, serveCommand, versionCommand } from './server.ts'
import { runCommand } from './shared/process.ts'
import type { Terminal } from './shared/terminal.ts'
import { storeCommand } from './store.ts'
import { suitesCommand } from './suites.ts'
import { whyCommand } from './why.ts'

/** The command line. Resolves to the exit status; after `serve` and `demo` the process lives on. */
export async function main(args: string[], terminal: Terminal): Promise<number> {
  const program = new Command('token-server')
    .description('An OAuth 2.0 token server for machine-to-machine clients.')
    .version(VERSION)
    .addCommand(serveCommand(terminal))
    .addCommand(migrateCommand(terminal))
    .addCommand(seedCommand(terminal))
    .addCommand(applicationsCommand(terminal))
    .addCommand(suitesCommand(terminal))
    .addCommand(secretsCommand(terminal))
    .addCommand(tokensCommand(terminal))
    .addCommand(whyCommand(terminal))
    .addCommand(auditCommand(terminal))
    .addCommand(operatorsCommand(terminal))
    .addCommand(consoleCommand(terminal))
    .addCommand(backupCommand(terminal))
    .addCommand(restoreCommand(terminal))
    .addCommand(storeCommand(terminal))
    .addCommand(doctorCommand(terminal))
    .addCommand(healthcheckCommand(terminal))
    .addCommand(demoCommand(terminal))
    .addCommand(versionCommand(terminal))
  return runCommand(program, args, terminal)
}
