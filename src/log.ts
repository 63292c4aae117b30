import { type Logger, pino } from 'pino'
import type { Config } from './config.ts'

/** Buffered lines leave at this many bytes, after a second, or at exit. */
const BUFFER = 4096
const FLUSH_INTERVAL = 1000

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
  return pino(
    options,
    pino.destination({ dest: destination, sync: false, minLength: BUFFER, periodicFlush: FLUSH_INTERVAL }),
  )
}
