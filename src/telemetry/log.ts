import { fstatSync, openSync } from 'node:fs'
import { type LevelWithSilent, type Logger, pino } from 'pino'
import { createLogStream } from './log-stream.ts'

const STANDARD_OUTPUT = 1

/** What a pipe takes in one piece, so that no other process's lines come in between (POSIX, PIPE_BUF). Bytes. */
const PIPE_BUF = 4096

export interface LogOptions {
  isTTY: boolean
  /** Whether other processes write to the same place. */
  shared?: boolean
  /** A file descriptor, or a file. */
  destination?: number | string
}

/** The server's log: JSON lines on standard output, asynchronously; coloured lines for people on a terminal. */
export async function createLog(
  level: LevelWithSilent,
  { isTTY, shared = false, destination = STANDARD_OUTPUT }: LogOptions,
): Promise<Logger> {
  const options = { level, formatters: { level: (label: string) => ({ level: label }) } }
  if (isTTY) {
    const { default: pretty } = await import('pino-pretty')
    return pino(options, pretty({ destination, sync: true, colorize: true, ignore: 'pid,hostname' }))
  }
  const fd = typeof destination === 'number' ? destination : openSync(destination, 'a')
  const stream = createLogStream(fd, shared && !fstatSync(fd).isFile() ? { chunk: PIPE_BUF } : {})
  process.once('exit', stream.flushSync)
  return pino(options, stream)
}

/** The log of a command: JSON lines, each written at once. */
export function createLineLog(level: LevelWithSilent, write: (line: string) => unknown): Logger {
  return pino({ level, formatters: { level: (label) => ({ level: label }) } }, { write: (line) => void write(line) })
}

/** Resolves when all that was logged is written, or could not be. */
export function flushLog(log: Logger): Promise<void> {
  return new Promise((resolve) => log.flush(() => resolve()))
}
