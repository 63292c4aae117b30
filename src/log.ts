import { type Logger, pino } from 'pino'
import type { Config } from './config.ts'

/** Buffered lines leave at this many bytes, after a second, or at exit. */
const BUFFER = 4096
const FLUSH_INTERVAL = 1000

/** What nobody takes from standard output is held up to this many bytes; then lines are dropped. */
const MOST_HELD = 8 * 1024 * 1024

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
  const stream = pino.destination({
    dest: destination,
    sync: false,
    minLength: BUFFER,
    maxLength: MOST_HELD,
    periodicFlush: FLUSH_INTERVAL,
  })
  // A server whose log cannot be written, to a full disk say, goes on serving; and it must not try for ever at its exit.
  const { flushSync } = stream
  stream.on('error', () => {
    stream.flushSync = () => {}
  })
  stream.on('write', () => {
    stream.flushSync = flushSync
  })
  return pino(options, stream)
}

/** Resolves when all that was logged is written, or could not be. */
export function flushLog(log: Logger): Promise<void> {
  return new Promise((resolve) => log.flush(() => resolve()))
}
