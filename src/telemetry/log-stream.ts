import { write, writeSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'

/** Lines leave together when they are so many bytes, or after so many milliseconds. */
const CHUNK = 64 * 1024
const INTERVAL = 100

/** What nobody takes is held up to this many bytes; then lines are dropped. */
const MOST_HELD = 8 * 1024 * 1024

/** A character of a string, as JavaScript counts them, has this many bytes of UTF-8 at most. */
const BYTES_A_CHARACTER = 3

const writeSome = promisify(write)

/**
 * Where pino's lines go: to a file descriptor, in the background and in order. Lines are gathered as bytes; as text, as
 * pino's own destination does it, they took a sixth of the CPU of issuing a token. What cannot be written is dropped.
 * At most `chunk` bytes are written at a time.
 */
export function createLogStream(fd: number, { chunk = CHUNK } = {}) {
  let bytes = Buffer.alloc(0)
  let begin = 0
  let end = 0
  let timer: NodeJS.Timeout | undefined
  const leaving: Buffer[] = []
  let held = 0
  let writing: Promise<void> | undefined

  /** Takes a line, with its line break. */
  function add(line: string): void {
    if (held > MOST_HELD) return
    const room = line.length * BYTES_A_CHARACTER
    if (end + room > bytes.length) {
      leave()
      bytes = Buffer.allocUnsafeSlow(Math.max(chunk, room))
      begin = end = 0
    }
    end += bytes.write(line, end)
    timer ??= setTimeout(leave, INTERVAL).unref()
  }

  function leave(): void {
    clearTimeout(timer)
    timer = undefined
    if (begin === end) return
    leaving.push(bytes.subarray(begin, end))
    held += end - begin
    begin = end
    writing ??= writeLeaving()
  }

  async function writeLeaving(): Promise<void> {
    for (let next = leaving[0]; next; next = leaving[0]) {
      const written = await writeSome(fd, next).then(
        ({ bytesWritten }) => bytesWritten,
        async ({ code }: NodeJS.ErrnoException) => {
          if (code !== 'EAGAIN') return next.length
          await sleep(INTERVAL)
          return 0
        },
      )
      held -= written
      if (written < next.length) leaving[0] = next.subarray(written)
      else leaving.shift()
    }
    writing = undefined
  }

  return {
    write: add,

    /** Calls back when all that was taken is written, or could not be. */
    flush(done: () => void): void {
      leave()
      if (writing) writing.then(done)
      else done()
    },

    /** Writes the rest at once, blocking; nothing where a write is under way, which may never end. */
    flushSync(): void {
      if (writing || begin === end) return
      try {
        writeSync(fd, bytes.subarray(begin, end))
      } catch {}
      begin = end
    },
  }
}
