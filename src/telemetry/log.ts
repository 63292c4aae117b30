import { fstatSync, openSync, writeSync } from 'node:fs'
import { inspect, styleText } from 'node:util'
import { type Level, type LevelWithSilent, type Logger, type LoggerOptions, pino } from 'pino'
import { visible } from '../domain/text.ts'
import { createLogStream, type Dropping } from './log-stream.ts'

const STANDARD_OUTPUT = 1

/** On Linux, writes of up to this many bytes to a pipe are not mixed with those of other processes. */
const PIPE_BUF = 4096

export interface LogOptions extends Dropping {
  isTTY: boolean
  /** Whether other processes write to the same place. */
  shared?: boolean
  /** A file descriptor, or a file. */
  destination?: number | string
}

/** The server's log: JSON lines, written asynchronously; coloured lines on a terminal. */
export function createLog(
  level: LevelWithSilent,
  { isTTY, shared = false, destination = STANDARD_OUTPUT, ...dropping }: LogOptions,
): Logger {
  const fd = typeof destination === 'number' ? destination : openSync(destination, 'a')
  if (isTTY) return createTerminalLog(level, (text) => writeSync(fd, text))
  const stream = createLogStream(fd, { ...dropping, ...(shared && !fstatSync(fd).isFile() && { chunk: PIPE_BUF }) })
  process.once('exit', stream.flushSync)
  return pino(withNames(level), stream)
}

/** Coloured lines for a terminal, each written at once. */
export function createTerminalLog(level: LevelWithSilent, write: (text: string) => unknown): Logger {
  const escaped = (_: string, value: unknown) => (typeof value === 'string' ? visible(value) : value)
  const options = { ...withNames(level), base: null }
  return pino(options, { write: (line) => void write(forTerminal(JSON.parse(line, escaped))) })
}

const COLORS = { trace: 'gray', debug: 'blue', info: 'green', warn: 'yellow', error: 'red', fatal: 'red' } as const

/** The time of day, the level and the message, and then the fields. */
function forTerminal({ level, time, msg, ...fields }: { level: Level; time: number; msg: string }): string {
  const at = new Date(time)
  const clock = `${at.toTimeString().slice(0, 8)}.${at.toISOString().slice(20, 23)}`
  const name = styleText(COLORS[level], level.toUpperCase(), { validateStream: false })
  const shown = Object.keys(fields).length > 0 ? ` ${inspect(fields, { colors: true, depth: null })}` : ''
  return `[${clock}] ${name}: ${msg}${shown}\n`
}

/** JSON lines, each written at once. */
export function createLineLog(level: LevelWithSilent, write: (line: string) => unknown): Logger {
  return pino(withNames(level), { write: (line) => void write(visible(line)) })
}

/** Levels are written as names, not as pino's numbers. */
function withNames(level: LevelWithSilent): LoggerOptions {
  return { level, formatters: { level: (label) => ({ level: label }) } }
}
