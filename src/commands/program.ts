import { Command } from 'commander'
import { VERSION } from '../version.ts'
import { runCommand } from './shared/process.ts'
import type { Terminal } from './shared/terminal.ts'

type Add = (program: Command, terminal: Terminal) => void

/** The commands in the order of the help. Only the one that is run is loaded. */
const COMMANDS: Record<string, () => Promise<Add>> = {
  init: async () => (await import('./init.ts')).addInit,
  serve: async () => (await import('./server.ts')).addServe,
  migrate: async () => (await import('./server.ts')).addMigrate,
  seed: async () => (await import('./seed.ts')).addSeed,
  apply: async () => (await import('./apply.ts')).addApply,
  export: async () => (await import('./export.ts')).addExport,
  applications: async () => (await import('./applications.ts')).addApplications,
  suites: async () => (await import('./suites.ts')).addSuites,
  secrets: async () => (await import('./secrets.ts')).addSecrets,
  federated: async () => (await import('./federated.ts')).addFederated,
  tokens: async () => (await import('./applications.ts')).addTokens,
  why: async () => (await import('./why.ts')).addWhy,
  audit: async () => (await import('./audit.ts')).addAudit,
  operators: async () => (await import('./operators.ts')).addOperators,
  console: async () => (await import('./console.ts')).addConsole,
  notices: async () => (await import('./notices.ts')).addNotices,
  backup: async () => (await import('./backup.ts')).addBackup,
  restore: async () => (await import('./backup.ts')).addRestore,
  store: async () => (await import('./store.ts')).addStore,
  doctor: async () => (await import('./doctor.ts')).addDoctor,
  healthcheck: async () => (await import('./server.ts')).addHealthcheck,
  completion: async () => (await import('./completion.ts')).addCompletion,
  demo: async () => (await import('./demo.ts')).addDemo,
  version: async () => (await import('./server.ts')).addVersion,
}

/** Runs a command line. Resolves to the exit status; `serve` and `demo` keep running after that. */
export async function main(args: string[], terminal: Terminal): Promise<number> {
  const program = new Command('token-server')
    .description('An OAuth 2.0 token server for machine-to-machine clients.')
    .version(VERSION)
  for (const load of needed(args)) (await load())(program, terminal)
  return runCommand(program, args, terminal)
}

/** The named command, or all of them for the help, completion or a possibly misspelt name. */
function needed([name = '']: string[]) {
  if (name === 'apps') return [COMMANDS.applications as () => Promise<Add>]
  const known = name !== 'completion' && Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined
  return known ? [known] : Object.values(COMMANDS)
}
