import { parseArgs } from 'node:util'
import type { Cleanup } from './trial.ts'

/** A wrong option or a missing package. The message is a sentence for the user. */
export class UsageError extends Error {}

/** Parses options as Node.js does. Throws UsageError if they are invalid. */
export const parseCommandLine: typeof parseArgs = (config) => {
  try {
    return parseArgs(config)
  } catch (error) {
    throw new UsageError((error as Error).message)
  }
}

/** The value of an option that takes a whole number. Throws UsageError if it is another text. */
export function whole(name: string, text: string | undefined, defaultValue: number): number {
  const number = text === undefined ? defaultValue : Number(text)
  if (Number.isSafeInteger(number) && number >= 0) return number
  throw new UsageError(`--${name} must be a whole number.`)
}

export function print(text: string): void {
  process.stdout.write(`${text}\n`)
}

/** Runs a program and exits. Undoes what it has begun, even if it is interrupted. */
export async function runToEnd(main: () => Promise<void>, cleanup: Cleanup): Promise<never> {
  process.on('exit', () => {
    for (const undo of [...cleanup].reverse()) undo()
  })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => process.exit(1))
  try {
    await main()
    // What a failed part has left behind would keep this process alive.
    process.exit()
  } catch (error) {
    console.error(error instanceof UsageError ? error.message : error)
    process.exit(error instanceof UsageError ? 2 : 1)
  }
}
