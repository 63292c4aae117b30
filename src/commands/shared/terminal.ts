import { isUtf8 } from 'node:buffer'
import { readFile } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import type { Command } from 'commander'
import { OperatorError } from '../../domain/operator-error.ts'
import { visible } from '../../domain/text.ts'

type Output = { write(data: string | Uint8Array, done?: (error?: Error | null) => void): unknown; isTTY?: boolean }

export interface Terminal {
  env: NodeJS.ProcessEnv
  stdin: AsyncIterable<Buffer | string> & { isTTY?: boolean }
  stdout: Output
  stderr: Output
}

export interface JsonOption {
  json?: boolean | undefined
}

export class OutputFailed extends OperatorError {
  /** Whether the reader has closed the output, as `head` does. */
  readonly isClosed: boolean

  constructor(cause: NodeJS.ErrnoException) {
    super(`The output could not be written: ${cause.message}.`, { cause })
    this.isClosed = cause.code === 'EPIPE'
  }
}

/** Adds a command with the option `--json`. `usage` is its name, and arguments that need no description. */
export function addCommand(parent: Command, usage: string, description: string): Command {
  return parent.command(usage).description(description).option('--json', 'print JSON')
}

/** Writes to standard output. Resolves when the text is written; rejects with OutputFailed. */
export function write({ stdout }: Terminal, text: string | Uint8Array): Promise<void> {
  const data = typeof text === 'string' ? visible(text) : text
  return new Promise((resolve, reject) => {
    stdout.write(data, (error) => (error ? reject(new OutputFailed(error)) : resolve()))
  })
}

/** Prints a result: as JSON with `--json`, otherwise as `words`. Rejects with OutputFailed. */
export function show(terminal: Terminal, { json }: JsonOption, result: unknown, words: string): Promise<void> {
  return write(terminal, `${json ? JSON.stringify(result, null, 2) : words}\n`)
}

/** Shows the result of a change like `show`. Rejects with OperatorError. `lost` says what to do if a secret was not shown. */
export async function print(terminal: Terminal, options: JsonOption, result: unknown, words: string, lost = '') {
  await show(terminal, options, result, words).catch(({ message, cause }: OutputFailed) => {
    throw new OperatorError(`The change was made. ${message} ${lost}`.trimEnd(), { cause })
  })
}

/** Prints a result that contains a new secret of an application or a suite. */
export function printSecret(owner: string, ...rest: Parameters<typeof show>): Promise<void> {
  const lost = `The new secret of ${owner} is lost: "secrets rotate ${owner}" makes another one. The lost one ends with the others.`
  return print(...rest, lost)
}

/** Writes a message to standard error, as JSON or as text. */
export function say({ stderr }: Terminal, { json }: JsonOption, kind: 'error' | 'warning' | 'progress', text: string) {
  const words = kind === 'warning' ? `Warning: ${text}` : text
  stderr.write(visible(`${json ? JSON.stringify({ [kind]: text }) : words}\n`))
}

/** Asks on standard error. Resolves to the typed line; undefined if the input has ended. */
export async function prompt({ stdin, stderr }: Terminal, question: string): Promise<string | undefined> {
  stderr.write(question)
  const input = stdin as unknown as Readable
  if (input.readableEnded) return undefined
  const lines = createInterface({ input })
  return new Promise((resolve) => {
    lines.once('line', (line) => resolve(line.trim()))
    // Otherwise the terminal would keep the process alive.
    lines.once('line', () => lines.close())
    lines.once('close', () => resolve(undefined))
  })
}

const INTERVAL_ON_TERMINAL_MS = 1000
const INTERVAL_MS = 10_000

/** Returns a function that reports progress, at most once per interval: it ignores other calls. */
export function createProgress(terminal: Terminal, options: JsonOption): (text: string) => void {
  const interval = terminal.stderr.isTTY ? INTERVAL_ON_TERMINAL_MS : INTERVAL_MS
  let reportedAt = performance.now()
  return (text) => {
    if (performance.now() < reportedAt + interval) return
    reportedAt = performance.now()
    say(terminal, options, 'progress', text)
  }
}

/** Reads a file, or standard input if the file is `-`. Throws OperatorError if it cannot be read or is not UTF-8. */
export async function readInput(terminal: Terminal, file: string): Promise<string> {
  const name = file === '-' ? 'standard input' : file
  const reading = file === '-' ? buffer(terminal.stdin as AsyncIterable<Buffer>) : readFile(file)
  const content = await reading.catch(({ code, message }: NodeJS.ErrnoException) => {
    throw new OperatorError(`Cannot read ${name}: ${code === 'EISDIR' ? 'it is a directory' : message}.`)
  })
  const text = new TextDecoder().decode(content)
  if (isUtf8(content)) return text
  const lines = text.slice(0, text.indexOf('\ufffd')).split('\n')
  const column = String(lines.at(-1)).length + 1
  throw new OperatorError(`${name} is not UTF-8 (line ${lines.length} column ${column}).`)
}
