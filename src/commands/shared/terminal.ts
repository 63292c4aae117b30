import { readFile } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import type { Command } from 'commander'
import { OperatorError } from '../../domain/operator-error.ts'

/** The process as the commands see it. */
export interface Terminal {
  env: NodeJS.ProcessEnv
  stdin: AsyncIterable<Buffer | string>
  /** `done`, where it is given, is called when what was written has gone on its way. */
  stdout: { write(data: string | Uint8Array, done?: () => void): unknown; isTTY?: boolean }
  stderr: { write(text: string): unknown }
}

/** Adds `--json`, which every command that prints a result has. */
export function withJson(command: Command): Command {
  return command.option('--json', 'print JSON')
}

/** Prints a result: as JSON where that was asked for, else in words. */
export function print(terminal: Terminal, { json }: { json?: boolean }, result: unknown, words: string): void {
  terminal.stdout.write(`${json ? JSON.stringify(result, null, 2) : words}\n`)
}

/** The text of a file, or of standard input where the file is `-`. Throws OperatorError where it cannot be read. */
export async function readInput(terminal: Terminal, file: string): Promise<string> {
  if (file === '-') return text(terminal.stdin)
  return readFile(file, 'utf8').catch((cause: Error) => {
    throw new OperatorError(`Cannot read ${file}: ${cause.message}.`, { cause })
  })
}

/** Rows of text in columns, under a heading. */
export function table(heading: string[], rows: string[][]): string {
  const lines = [heading, ...rows]
  const widths = heading.map((_, column) =>
    lines.reduce((width, cells) => Math.max(width, (cells[column] as string).length), 0),
  )
  const line = (cells: string[]) =>
    cells
      .map((cell, column) => cell.padEnd(widths[column] as number))
      .join('  ')
      .trimEnd()
  return lines.map(line).join('\n')
}
