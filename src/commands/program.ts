import { Command } from 'commander'
import { VERSION } from '../version.ts'
import { addApplications, addTokens } from './applications.ts'
import { addAudit } from './audit.ts'
import { addBackup, addRestore } from './backup.ts'
import { addConsole } from './console.ts'
import { addDemo } from './demo.ts'
import { addDoctor } from './doctor.ts'
import { addOperators } from './operators.ts'
import { addSecrets } from './secrets.ts'
import { addSeed } from './seed.ts'
import { addHealthcheck, addMigrate, addServe, addVersion } from './server.ts'
import { runCommand } from './shared/process.ts'
import type { Terminal } from './shared/terminal.ts'
import { addStore } from './store.ts'
import { addSuites } from './suites.ts'
import { addWhy } from './why.ts'

/** The commands in the order of the help. */
const COMMANDS = [
  addServe,
  addMigrate,
  addSeed,
  addApplications,
  addSuites,
  addSecrets,
  addTokens,
  addWhy,
  addAudit,
  addOperators,
  addConsole,
  addBackup,
  addRestore,
  addStore,
  addDoctor,
  addHealthcheck,
  addDemo,
  addVersion,
]

/** Runs a command line. Resolves to the exit status; `serve` and `demo` keep running after that. */
export async function main(args: string[], terminal: Terminal): Promise<number> {
  const program = new Command('token-server')
    .description('An OAuth 2.0 token server for machine-to-machine clients.')
    .version(VERSION)
  for (const add of COMMANDS) add(program, terminal)
  return runCommand(program, args, terminal)
}
