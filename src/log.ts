import { openSync } from 'node:fs'
import { type Logger, pino } from 'pino'
import type { Config } from './config.ts'
import { createLogStream } from './log-stream.ts'

const STANDARD_OUTPUT = 1

/** The log: JSON lines on standard output, asynchronously; coloured lines for people where that is a terminal. */
export async function createLog(
  level: Config['LOG_LEVEL'],
  { isTTY, destination = STANDARD_OUTPUT }: { isTTY: boolean; destination?: number | string },
): Promise<Logger> {
  const options = { level, formatters: { level: (label: string) => ({ level: label }) } }
  if (isTTY) {
    const { default: pretty } = await import('pino-pretty')
    return pino(options, pretty({ destination, sync: true, colorize: true, ignore: 'pid,hostname' }))
  }
  const stream = createLogStream(typeof destination === 'number' ? destination : openSync(destination, 'a'))
  process.once('exit', stream.flushSync)
  return pino(options, stream)
}

/** Resolves when all that was logged is written, or could not be. */
export function flushLog(log: Logger): Promise<void> {
  return new Promise((resolve) => log.flush(() => resolve()))
}
