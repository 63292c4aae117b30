import cluster from 'node:cluster'
import { enableCompileCache } from 'node:module'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Command, CommanderError, Help, type Option } from 'commander'
import { OperatorError } from '../../domain/operator-error.ts'
import { StoreUnavailable } from '../../domain/store.ts'
import { endProcess, untilFilesRest } from '../../server/signals.ts'
import { isAnyLeftOpen } from '../../store/opened.ts'
import { ENV_FILE, misspeltVariables, readEnvFile } from './env-file.ts'
import { OutputFailed, say, type Terminal } from './terminal.ts'

const FAILED = 1
const WRONG_USAGE = 2
/** What a shell shows of a program that SIGPIPE ended: 128 and its number. */
const READER_GONE = 141

/** How long the end of a command waits for a disk. */
const HANGING_MS = 1000

/**
 * Runs the command that the arguments name. Resolves to the exit status; what went wrong is on standard error, as JSON where
 * that was asked for.
 */
export async function runCommand(program: Command, args: string[], terminal: Terminal): Promise<number> {
  const json = wantsJson(args)
  useTerminal(program, terminal, (usage) => {
    // Commander's own texts begin with the word, which is the key of the JSON.
    const text = usage.trimEnd()
    say(terminal, { json }, 'error', json ? text.replace(/^error: /, '') : text)
  })
  try {
    await program.parseAsync(args, { from: 'user' })
    return 0
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : WRONG_USAGE
    if (error instanceof OutputFailed && error.isClosed) return READER_GONE
    say(terminal, { json }, 'error', errorText(error))
    return FAILED
  }
}

function wantsJson(args: string[]): boolean {
  return args.includes('--json')
}

/** What an operator can mend is one sentence; everything else is a bug, and whoever mends it needs the stack. */
function errorText(error: unknown): string {
  if (error instanceof OperatorError || error instanceof StoreUnavailable) return error.message
  return `This is a bug in token-server. Please report it with what follows.\n${(error as Error).stack}`
}

/** What the help says of an option: also whether it must be given. */
function optionDescription(option: Option): string {
  const description = new Help().optionDescription(option)
  return option.mandatory ? `${description} (required)` : description
}

/** Makes a command and its subcommands write to the terminal, and throw where Commander would exit. */
function useTerminal(command: Command, terminal: Terminal, outputError: (usage: string) => void): void {
  command
    .exitOverride()
    .configureHelp({ optionDescription })
    .configureOutput({
      writeOut: (text) => terminal.stdout.write(text),
      writeErr: (text) => terminal.stderr.write(text),
      outputError,
    })
  for (const child of command.commands) useTerminal(child, terminal, outputError)
}

/** Runs the program in this process, with the settings in `.env`, and sets its exit status. */
export async function runProcess(main: () => Promise<number>): Promise<void> {
  const args = process.argv.slice(2)
  handleBrokenOutput()
  // Compiled code starts in two thirds of the time. In the program's own folder, where nobody else can write; where that is
  // read-only the cache is off.
  enableCompileCache(join(import.meta.dirname, '../../../node_modules/.cache/compiled'))
  // A worker has its settings from its leader: those of the start, whatever is in the file by now.
  // The doctor reads them itself: what is wrong with them is what it is asked for.
  const isReady = cluster.isWorker || args[0] === 'doctor' || loadSettings(process, wantsJson(args))
  const status = isReady ? await main() : FAILED
  // What a worker began before it failed, its channel to the leader first of all, would keep it alive; and a
  // database whose disk has failed is left open, which the driver would close (docs/adr/0015), also after a success.
  if (status !== 0 || isAnyLeftOpen()) {
    await Promise.race([untilFilesRest(), sleep(HANGING_MS)])
    endProcess(status)
  }
}

function handleBrokenOutput(): void {
  // Whoever writes is told (shared/terminal.ts); without a listener the process would end here.
  process.stdout.on('error', () => {})
  // What the audit log cannot write must not make a change that was made look like one that was not.
  process.stderr.on('error', () => {})
}

/** Adds the settings in `.env` to the environment, which takes precedence. False if the file has errors. */
function loadSettings(terminal: Terminal, json: boolean): boolean {
  const { env } = terminal
  const { settings, warnings, errors } = readEnvFile(ENV_FILE)
  if (errors.length > 0) {
    say(terminal, { json }, 'error', errors.join('\n'))
    return false
  }
  warnings.push(...misspeltVariables(Object.keys(env)))
  for (const warning of warnings) say(terminal, { json }, 'warning', warning)
  for (const [name, value] of Object.entries(settings)) env[name] ??= value
  return true
}
