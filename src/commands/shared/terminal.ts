import { readFile } from 'node:fs/promises'
import { buffer } from 'node:stream/consumers'
import type { Command } from 'commander'
import { OperatorError } from '../../domain/operator-error.ts'
import { visible } from '../../domain/text.ts'
import { decodeText } from './text.ts'

type Output = { write(data: string | Uint8Array, done?: (error?: Error | null) => void): unknown; isTTY?: boolean }

/** The process as the commands see it. */
export interface Terminal {
  env: NodeJS.ProcessEnv
  stdin: AsyncIterable<Buffer | string> & { isTTY?: boolean }
  stdout: Output
  stderr: Output
}

/** Whether a command was given `--json`. */
export interface JsonOption {
  json?: boolean
}

/** The output could not be written. */
export class OutputFailed extends OperatorError {
  /** Whether its reader has closed it, as `head` does when it has seen enough. */
  readonly isClosed: boolean

  constructor(cause: NodeJS.ErrnoException) {
    super(`The output could not be written: ${cause.message}.`, { cause })
    this.isClosed = cause.code === 'EPIPE'
  }
}

/** Adds `--json`, which every command that prints a result has. */
export function withJson(command: Command): Command {
  return command.option('--json', 'print JSON')
}

/** Writes to standard output. Resolves when that is written; rejects with OutputFailed. */
export function write({ stdout }: Terminal, text: string | Uint8Array): Promise<void> {
  const data = typeof text === 'string' ? visible(text) : text
  return new Promise((resolve, reject) => {
    stdout.write(data, (error) => (error ? reject(new OutputFailed(error)) : resolve()))
  })
}

/** Prints what was asked for: as JSON where that was asked for, else in words. Rejects with OutputFailed. */
export function show(terminal: Terminal, { json }: JsonOption, result: unknown, words: string): Promise<void> {
  return write(terminal, `${json ? JSON.stringify(result, null, 2) : words}\n`)
}

/** Prints the result of a change that was made. Throws OperatorError where it cannot. */
export async function print(terminal: Terminal, options: JsonOption, result: unknown, words: string): Promise<void> {
  await show(terminal, options, result, words).catch(({ message, cause }: OutputFailed) => {
    throw new OperatorError(`What was asked for is done. ${message}`, { cause })
  })
}

/** Like `print`, where the result has the new secret of an application or a suite, which nobody can be shown again. */
export function printSecret(owner: string, ...rest: Parameters<typeof print>): Promise<void> {
  const lost = `The new secret of ${owner} is lost: "secrets rotate ${owner}" makes another one. The lost one ends with the others.`
  return printOnce(lost, ...rest)
}

/** Like `print`, for a result that cannot be shown again. `lost`: what to do if printing fails. */
export function printOnce(
  lost: string,
  ...[terminal, options, result, words]: Parameters<typeof print>
): Promise<void> {
  return print(terminal, options, result, words).catch(({ message, cause }: OperatorError) => {
    throw new OperatorError(`${message} ${lost}`, { cause })
  })
}

/** Says something on standard error: as JSON where that was asked for, else in words. */
export function say(
  { stderr }: Terminal,
  { json }: JsonOption,
  kind: 'error' | 'warning' | 'progress',
  text: string,
): void {
  const words = kind === 'warning' ? `Warning: ${text}` : text
  stderr.write(visible(`${json ? JSON.stringify({ [kind]: text }) : words}\n`))
}

/** The text of a file, or of standard input where the file is `-`. Throws OperatorError where it cannot be read. */
export async function readInput(terminal: Terminal, file: string): Promise<string> {
  const name = file === '-' ? 'standard input' : file
  const reading = file === '-' ? buffer(terminal.stdin as AsyncIterable<Buffer>) : readFile(file)
  const content = await reading.catch(({ code, message }: NodeJS.ErrnoException) => {
    throw new OperatorError(`Cannot read ${name}: ${code === 'EISDIR' ? 'it is a directory' : message}.`)
  })
  return decodeText(name, content)
}
