import { fstatSync, openSync } from 'node:fs'
import { type Logger, pino } from 'pino'
import type { Config } from '../config.ts'
import { createLogStream } from './log-stream.ts'

const STANDARD_OUTPUT = 1

/** What a pipe takes at once, so that no other process's lines come in between (POSIX, PIPE_BUF). Bytes. */
const ATOMIC = 4096

export interface LogOptions {
  isTTY: boolean
  /** Whether other processes write to the same place. */
  shared?: boolean
  /** A file descriptor, or a file. */
  destination?: number | string
}

/** The log: JSON lines on standard output, asynchronously; coloured lines for people where that is a terminal. */
export async function createLog(
  level: Config['LOG_LEVEL'],
  { isTTY, shared = false, destination = STANDARD_OUTPUT }: LogOptions,
): Promise<Logger> {
  const options = { level, formatters: { level: (label: string) => ({ level: label }) } }
  if (isTTY) {
    const { default: pretty } = await import('pino-pretty')
    return pino(options, pretty({ destination, sync: true, colorize: true, ignore: 'pid,hostname' }))
  }
  const fd = typeof destination === 'number' ? destination : openSync(destination, 'a')
  const stream = createLogStream(fd, shared && !fstatSync(fd).isFile() ? { chunk: ATOMIC } : {})
  process.once('exit', stream.flushSync)
  return pino(options, stream)
}

/** Resolves when all that was logged is written, or could not be. */
export function flushLog(log: Logger): Promise<void> {
  return new Promise((resolve) => log.flush(() => resolve()))
}
