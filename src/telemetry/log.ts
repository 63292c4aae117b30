import { fstatSync, openSync, writeSync } from 'node:fs'
import { type LevelWithSilent, type Logger, type LoggerOptions, pino } from 'pino'
import { visible } from '../domain/text.ts'
import { createLogStream, type Dropping } from './log-stream.ts'

const STANDARD_OUTPUT = 1

/** On Linux, a pipe keeps writes of up to this many bytes in one piece, unmixed with those of other processes. */
const PIPE_BUF = 4096

export interface LogOptions extends Dropping {
  isTTY: boolean
  /** Whether other processes write to the same place. */
  shared?: boolean
  /** A file descriptor, or a file. */
  destination?: number | string
}

/** The server's log: JSON lines, written asynchronously; coloured lines on a terminal. */
export async function createLog(
  level: LevelWithSilent,
  { isTTY, shared = false, destination = STANDARD_OUTPUT, ...dropping }: LogOptions,
): Promise<Logger> {
  const fd = typeof destination === 'number' ? destination : openSync(destination, 'a')
  if (isTTY) return createTerminalLog(level, (text) => writeSync(fd, text))
  const stream = createLogStream(fd, { ...dropping, ...(shared && !fstatSync(fd).isFile() && { chunk: PIPE_BUF }) })
  process.once('exit', stream.flushSync)
  return pino(withNames(level), stream)
}

/** Coloured lines for a terminal, each written at once. */
export async function createTerminalLog(level: LevelWithSilent, write: (text: string) => unknown): Promise<Logger> {
  const { prettyFactory } = await import('pino-pretty')
  const format = prettyFactory({ colorize: true, ignore: 'pid,hostname' })
  const escaped = (_: string, value: unknown) => (typeof value === 'string' ? visible(value) : value)
  return pino(withNames(level), { write: (line) => void write(format(JSON.parse(line, escaped))) })
}

/** JSON lines, each written at once. */
export function createLineLog(level: LevelWithSilent, write: (line: string) => unknown): Logger {
  return pino(withNames(level), { write: (line) => void write(visible(line)) })
}

/** Levels are written as names, not as pino's numbers. */
function withNames(level: LevelWithSilent): LoggerOptions {
  return { level, formatters: { level: (label) => ({ level: label }) } }
}
