import { fstatSync, openSync, writeSync } from 'node:fs'
import { type LevelWithSilent, type Logger, pino } from 'pino'
import { visible } from '../domain/visible.ts'
import { createLogStream, type Dropping } from './log-stream.ts'

const STANDARD_OUTPUT = 1

/** What a pipe takes in one piece, so that no other process's lines come in between (POSIX, PIPE_BUF). Bytes. */
const PIPE_BUF = 4096

export interface LogOptions extends Dropping {
  isTTY: boolean
  /** Whether other processes write to the same place. */
  shared?: boolean
  /** A file descriptor, or a file. */
  destination?: number | string
}

/** The server's log: JSON lines on standard output, asynchronously; coloured lines for people on a terminal. */
export async function createLog(
  level: LevelWithSilent,
  { isTTY, shared = false, destination = STANDARD_OUTPUT, ...dropping }: LogOptions,
): Promise<Logger> {
  const options = { level, formatters: { level: (label: string) => ({ level: label }) } }
  const fd = typeof destination === 'number' ? destination : openSync(destination, 'a')
  if (isTTY) {
    const { prettyFactory } = await import('pino-pretty')
    const format = prettyFactory({ colorize: true, ignore: 'pid,hostname' })
    return pino(options, { write: (line) => void writeSync(fd, format(showing(line))) })
  }
  const stream = createLogStream(fd, { ...dropping, ...(shared && !fstatSync(fd).isFile() && { chunk: PIPE_BUF }) })
  process.once('exit', stream.flushSync)
  return pino(options, stream)
}

/** What a line says, with texts that command no terminal. */
function showing(line: string): object {
  return JSON.parse(line, (_, value) => (typeof value === 'string' ? visible(value) : value))
}

/** The log of a command: JSON lines, each written at once. */
export function createLineLog(level: LevelWithSilent, write: (line: string) => unknown): Logger {
  return pino(
    { level, formatters: { level: (label) => ({ level: label }) } },
    { write: (line) => void write(visible(line)) },
  )
}

/** Resolves when all that was logged is written, or could not be. */
export function flushLog(log: Logger): Promise<void> {
  return new Promise((resolve) => log.flush(() => resolve()))
}
