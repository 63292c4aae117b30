import cluster from 'node:cluster'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Command, CommanderError, Help, type Option } from 'commander'
import { originOf } from '../../config.ts'
import { OperatorError } from '../../domain/operator-error.ts'
import { StoreUnavailable } from '../../domain/store.ts'
import { endProcess, waitForFileOperations } from '../../server/signals.ts'
import { isAnyLeftOpen, StoreMissing } from '../../store/opened.ts'
import { ENV_FILE, misspeltVariables, readEnvFile } from './env-file.ts'
import { OutputFailed, say, type Terminal } from './terminal.ts'

const FAILED = 1
const WRONG_USAGE = 2
/** The status that a shell reports for a program that SIGPIPE ended: 128 plus the number of the signal. */
const READER_GONE = 141

/** How long `runProcess` waits for pending writes before it ends the process. */
const PENDING_WRITES_MS = 1000

/** Runs the command that the arguments name. Resolves to the exit status. Prints errors on standard error. */
export async function runCommand(program: Command, args: string[], terminal: Terminal): Promise<number> {
  const json = args.includes('--json')
  useTerminal(program, terminal, (usage) => {
    // Commander's messages begin with `error: `, which is the key in JSON.
    const text = usage.trimEnd()
    say(terminal, { json }, 'error', json ? text.replace(/^error: /, '') : text)
  })
  try {
    await program.parseAsync(args, { from: 'user' })
    return 0
  } catch (error) {
    // For `apply`, 2 means that something would change, and wrong usage is 1.
    if (error instanceof CommanderError) return error.exitCode && args[0] !== 'apply' ? WRONG_USAGE : error.exitCode
    if (error instanceof OutputFailed && error.isClosed) return READER_GONE
    say(terminal, { json }, 'error', errorText(error, terminal))
    return FAILED
  }
}

/** The message of an error that an operator can fix. Any other error is a bug, whose stack is needed. */
function errorText(error: unknown, { env }: Terminal): string {
  const origin = () => originOf('DATABASE_URL', env, readEnvFile(ENV_FILE).settings)
  if (error instanceof StoreMissing) return `${error.message} DATABASE_URL comes from ${origin()}.`
  if (error instanceof OperatorError || error instanceof StoreUnavailable) return error.message
  return `This is a bug in token-server. Please report it with the following:\n${(error as Error).stack}`
}

function optionDescription(option: Option): string {
  const description = new Help().optionDescription(option)
  return option.mandatory ? `${description} (required)` : description
}

/** Makes a command and its subcommands write to the terminal, and throw instead of ending the process. */
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
  // A worker gets the settings from its leader: those of the start, even if the file has changed since.
  // Doctor reads the file itself and reports its errors as findings.
  const isReady = cluster.isWorker || args[0] === 'doctor' || loadSettings(process, args.includes('--json'))
  const status = isReady ? await main() : FAILED
  // A worker that failed would be kept alive, for example by its channel to the leader. A database whose disk has failed
  // must stay open, but an orderly exit would close it (docs/adr/0015).
  if (status !== 0 || isAnyLeftOpen()) {
    await Promise.race([waitForFileOperations(), sleep(PENDING_WRITES_MS)])
    endProcess(status)
  }
}

function handleBrokenOutput(): void {
  // Without a listener the process would end. The writer also gets the error (terminal.ts).
  process.stdout.on('error', () => {})
  // If the audit log cannot be written, the command must not fail: the change was made.
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
