import { write, writeSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { visible } from '../domain/text.ts'

/** Lines are written when this many bytes are buffered, or after this many milliseconds. */
const CHUNK_BYTES = 64 * 1024
const INTERVAL_MS = 100

/** How many bytes are buffered while the reader is slow: of all lines, and then of those that are not cheap. */
const CAPACITY_BYTES = 8 * 1024 * 1024
const RESERVE_BYTES = 8 * 1024 * 1024

/** A character of a string, as JavaScript counts them, has at most this many bytes of UTF-8. */
const MAX_BYTES_PER_CHARACTER = 3

const LINE_FEED = 0x0a
const DELETE = '\x7f'
const NOTHING = Buffer.alloc(0)

const writeAsync = promisify(write)

/** What becomes of lines for which there is no room. */
export interface Dropping {
  /** Whether a line may be dropped before others. */
  isCheap?: (line: string) => boolean
  /** The line that says how many were dropped. */
  lineOnDropped?: (count: number) => string
  /** Is called at once when lines are dropped. */
  onDropped?: (count: number) => void
}

/**
 * Where pino's lines go: to a file descriptor, in the background and in order. Lines are buffered as bytes, which costs a
 * fraction of what pino's own destination takes (docs/performance). What cannot be written is dropped, whole lines of it,
 * and counted; a line says how many as soon as something can be written again. At most `chunk` bytes are written at a time.
 */
export function createLogStream(
  fd: number,
  { chunk = CHUNK_BYTES, isCheap = () => false, ...dropping }: Dropping & { chunk?: number } = {},
) {
  const writer = createWriter(fd, dropping)
  let buffer: Buffer = NOTHING
  let begin = 0
  let end = 0
  let timer: NodeJS.Timeout | undefined

  /** Takes a line, with its line break. */
  function add(line: string): void {
    const queued = writer.queuedBytes()
    if (queued > CAPACITY_BYTES && (queued > CAPACITY_BYTES + RESERVE_BYTES || isCheap(line))) {
      writer.drop(1)
      return
    }
    const size = line.length * MAX_BYTES_PER_CHARACTER
    if (end + size > buffer.length) {
      enqueue()
      buffer = Buffer.allocUnsafeSlow(Math.max(chunk, size))
      begin = end = 0
    }
    const bytes = buffer.write(line, end)
    // A line that is not all ASCII has more bytes than characters, and may have to be escaped; in JSON so may DELETE.
    if (bytes !== line.length || line.includes(DELETE)) {
      const escaped = visible(line)
      if (escaped !== line) {
        add(escaped)
        return
      }
    }
    end += bytes
    timer ??= setTimeout(enqueue, INTERVAL_MS).unref()
  }

  /** Hands what is buffered to the writer. */
  function enqueue(): void {
    clearTimeout(timer)
    timer = undefined
    if (begin === end) return
    writer.enqueue(buffer.subarray(begin, end))
    begin = end
  }

  return {
    write: add,

    /** Calls back when all that was taken is written, or could not be. */
    flush(done: () => void): void {
      enqueue()
      writer.flush().then(done)
    },

    /** Writes the rest at once, blocking; nothing while a write is under way, which may never end. */
    flushSync(): void {
      if (writer.writeSync(buffer.subarray(begin, end))) begin = end
    },
  }
}

/** Writes bytes to a file descriptor, in order. Lines that cannot be written are dropped and counted. */
function createWriter(fd: number, { lineOnDropped = () => '', onDropped }: Omit<Dropping, 'isCheap'>) {
  const queue: Buffer[] = []
  let queuedBytes = 0
  let writing: Promise<void> | undefined
  let dropped = 0
  /** What is missing of a line whose beginning is written. */
  let rest: Buffer = NOTHING

  async function writeQueue(): Promise<void> {
    do {
      rest = rest.subarray(await put(fd, rest))
      const next = queue.shift() ?? NOTHING
      lose(next, rest.length === 0 ? await put(fd, next) : 0)
      queuedBytes -= next.length
      if (queuedBytes <= CAPACITY_BYTES / 2) await sayDropped()
    } while (queue.length > 0)
    writing = undefined
  }

  /** Counts the lines of which nothing is written, and keeps what is missing of the one that is cut. */
  function lose(bytes: Buffer, written: number): void {
    if (written === bytes.length) return
    const isCut = written > 0 && bytes[written - 1] !== LINE_FEED
    const lost = isCut ? bytes.indexOf(LINE_FEED, written) + 1 : written
    if (isCut) rest = bytes.subarray(written, lost)
    drop(countLines(bytes.subarray(lost)))
  }

  function drop(lines: number): void {
    dropped += lines
    onDropped?.(lines)
  }

  async function sayDropped(): Promise<void> {
    const count = dropped
    if (count === 0 || rest.length > 0) return
    const line = Buffer.from(lineOnDropped(count))
    const written = await put(fd, line)
    if (written === 0) return
    dropped -= count
    rest = line.subarray(written)
  }

  return {
    queuedBytes: () => queuedBytes,
    drop,

    enqueue(bytes: Buffer): void {
      queue.push(bytes)
      queuedBytes += bytes.length
      writing ??= writeQueue()
    },

    /** Resolves when everything is written, or could not be. */
    flush(): Promise<void> {
      writing ??= writeQueue()
      return writing
    },

    /** Writes what is left and these bytes, blocking. Returns false while a write is under way. */
    writeSync(bytes: Buffer): boolean {
      if (writing) return false
      const all = Buffer.concat([rest, bytes, Buffer.from(dropped > 0 ? lineOnDropped(dropped) : '')])
      rest = NOTHING
      dropped = 0
      putSync(fd, all)
      return true
    },
  }
}

/** Resolves to how many bytes could be written: fewer than all if the disk is full. */
async function put(fd: number, bytes: Buffer): Promise<number> {
  let written = 0
  while (written < bytes.length) {
    try {
      written += (await writeAsync(fd, bytes, written)).bytesWritten
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') break
      await sleep(INTERVAL_MS)
    }
  }
  return written
}

function putSync(fd: number, bytes: Buffer): void {
  try {
    if (bytes.length > 0) writeSync(fd, bytes)
  } catch {}
}

function countLines(bytes: Buffer): number {
  let count = 0
  for (const byte of bytes) if (byte === LINE_FEED) count++
  return count
}
