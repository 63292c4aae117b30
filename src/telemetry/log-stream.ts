import { write, writeSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'

/** Lines are written when this many bytes are buffered, or after this many milliseconds. */
const CHUNK_BYTES = 64 * 1024
const INTERVAL_MS = 100

/** How many bytes are buffered while the reader is slow; then lines are dropped. */
const CAPACITY_BYTES = 8 * 1024 * 1024

/** A character of a string, as JavaScript counts them, has at most this many bytes of UTF-8. */
const MAX_BYTES_PER_CHARACTER = 3

const writeAsync = promisify(write)

/**
 * Where pino's lines go: to a file descriptor, in the background and in order. Lines are buffered as bytes, which costs a
 * fraction of what pino's own destination takes (docs/performance). What cannot be written is dropped. At most `chunk`
 * bytes are written at a time.
 */
export function createLogStream(fd: number, { chunk = CHUNK_BYTES } = {}) {
  let buffer = Buffer.alloc(0)
  let begin = 0
  let end = 0
  let timer: NodeJS.Timeout | undefined
  const queue: Buffer[] = []
  let queuedBytes = 0
  let writing: Promise<void> | undefined

  /** Takes a line, with its line break. */
  function add(line: string): void {
    if (queuedBytes > CAPACITY_BYTES) return
    const size = line.length * MAX_BYTES_PER_CHARACTER
    if (end + size > buffer.length) {
      enqueue()
      buffer = Buffer.allocUnsafeSlow(Math.max(chunk, size))
      begin = end = 0
    }
    end += buffer.write(line, end)
    timer ??= setTimeout(enqueue, INTERVAL_MS).unref()
  }

  /** Hands what is buffered to the writer. */
  function enqueue(): void {
    clearTimeout(timer)
    timer = undefined
    if (begin === end) return
    queue.push(buffer.subarray(begin, end))
    queuedBytes += end - begin
    begin = end
    writing ??= writeQueue()
  }

  async function writeQueue(): Promise<void> {
    for (let next = queue[0]; next; next = queue[0]) {
      const written = await writeAsync(fd, next).then(
        ({ bytesWritten }) => bytesWritten,
        async ({ code }: NodeJS.ErrnoException) => {
          if (code !== 'EAGAIN') return next.length
          await sleep(INTERVAL_MS)
          return 0
        },
      )
      queuedBytes -= written
      if (written < next.length) queue[0] = next.subarray(written)
      else queue.shift()
    }
    writing = undefined
  }

  return {
    write: add,

    /** Calls back when all that was taken is written, or could not be. */
    flush(done: () => void): void {
      enqueue()
      if (writing) writing.then(done)
      else done()
    },

    /** Writes the rest at once, blocking; nothing where a write is under way, which may never end. */
    flushSync(): void {
      if (writing || begin === end) return
      try {
        writeSync(fd, buffer.subarray(begin, end))
      } catch {}
      begin = end
    },
  }
}
