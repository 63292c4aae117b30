import type { Readable } from 'node:stream'

/** How much of it is kept, in characters: the beginning, where the reason is. */
const LIMIT = 2000

/** How long a worker that has written something may take to end of it. */
const QUIET_MS = 1000

/**
 * Gathers what a worker writes to standard error, where it tells people why it did not start, Node.js why it died, and
 * libraries what they please. It is text, so it is said within a line of the log: that of the worker's end, or a line of its
 * own (`say`) if the worker goes on after it and `isReady`.
 */
export function gatherOutput(
  stream: Readable | null | undefined,
  { say, isReady }: { say: (text: string) => void; isReady: () => boolean },
) {
  let text = ''
  let timer: NodeJS.Timeout | undefined

  stream?.setEncoding('utf8').on('data', (chunk: string) => {
    text = (text + chunk).slice(0, LIMIT)
    if (isReady()) timer ??= setTimeout(() => say(take()), QUIET_MS).unref()
  })

  /** What was written and not said yet. */
  function take(): string {
    clearTimeout(timer)
    timer = undefined
    const taken = text.trim()
    text = ''
    return taken
  }

  return { take }
}
