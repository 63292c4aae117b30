import { write, writeSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { visible } from '../domain/text.ts'

/** Lines are written when this many bytes are buffered, or after this many milliseconds. */
const CHUNK_BYTES = 64 * 1024
const INTERVAL_MS = 100

/** How many bytes are buffered while the reader is slow: for any line, and in reserve for lines that must not be dropped. */
const CAPACITY_BYTES = 8 * 1024 * 1024
const RESERVE_BYTES = 8 * 1024 * 1024

/** UTF-8 needs at most this many bytes for a UTF-16 code unit. */
const MAX_BYTES_PER_CHARACTER = 3

const LINE_FEED = 0x0a
const DELETE = '\x7f'
const EMPTY = Buffer.alloc(0)

const writeAsync = promisify(write)

export interface Dropping {
  isDroppable?: (line: string) => boolean
  /** The line that reports how many were dropped, once lines can be written again. */
  lineOnDropped?: (count: number) => string
  /** Called as soon as lines are dropped. */
  onDropped?: (count: number) => void
}

/**
 * A destination for pino that writes to a file descriptor, in the background and in order. Lines are buffered as bytes, which
 * is much faster than pino's own destination (docs/performance). Lines that cannot be written are dropped and counted. At most
 * `chunk` bytes are written at a time.
 */
export function createLogStream(
  fd: number,
  { chunk = CHUNK_BYTES, isDroppable = () => false, ...dropping }: Dropping & { chunk?: number } = {},
) {
  const writer = createWriter(fd, dropping)
  let buffer: Buffer = EMPTY
  let begin = 0
  let end = 0
  let timer: NodeJS.Timeout | undefined

  /** `line`: with its line break. */
  function add(line: string): void {
    const queued = writer.queuedBytes()
    if (queued > CAPACITY_BYTES && (queued > CAPACITY_BYTES + RESERVE_BYTES || isDroppable(line))) {
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
    // JSON escapes control characters except DELETE; all other characters that `visible` escapes take several bytes.
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

  function enqueue(): void {
    clearTimeout(timer)
    timer = undefined
    if (begin === end) return
    writer.enqueue(buffer.subarray(begin, end))
    begin = end
  }

  return {
    write: add,

    /** Calls back when every line is written or dropped. */
    flush(done: () => void): void {
      enqueue()
      writer.flush().then(done)
    },

    /** Writes the rest synchronously. Does nothing while a write is under way, because that may never end. */
    flushSync(): void {
      if (writer.writeSync(buffer.subarray(begin, end))) begin = end
    },
  }
}

function createWriter(fd: number, { lineOnDropped = () => '', onDropped }: Omit<Dropping, 'isDroppable'>) {
  const queue: Buffer[] = []
  let queuedBytes = 0
  let writing: Promise<void> | undefined
  let dropped = 0
  /** The rest of a line whose beginning has been written. */
  let rest: Buffer = EMPTY

  async function writeQueue(): Promise<void> {
    do {
      rest = rest.subarray(await put(fd, rest))
      const next = queue.shift() ?? EMPTY
      dropUnwritten(next, rest.length === 0 ? await put(fd, next) : 0)
      queuedBytes -= next.length
      if (queuedBytes <= CAPACITY_BYTES / 2) await reportDropped()
    } while (queue.length > 0)
    writing = undefined
  }

  /** Drops all lines not yet begun, and keeps the rest of the one that was cut. */
  function dropUnwritten(bytes: Buffer, written: number): void {
    if (written === bytes.length) return
    const end = endOfLine(bytes, written)
    if (end > written) rest = bytes.subarray(written, end)
    drop(bytes.subarray(end).reduce((lines, byte) => (byte === LINE_FEED ? lines + 1 : lines), 0))
  }

  function drop(lines: number): void {
    dropped += lines
    onDropped?.(lines)
  }

  async function reportDropped(): Promise<void> {
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

    flush(): Promise<void> {
      writing ??= writeQueue()
      return writing
    },

    /** Writes the rest and these bytes synchronously. Returns false while a write is under way. */
    writeSync(bytes: Buffer): boolean {
      if (writing) return false
      const all = Buffer.concat([rest, bytes, Buffer.from(dropped > 0 ? lineOnDropped(dropped) : '')])
      rest = EMPTY
      dropped = 0
      try {
        if (all.length > 0) writeSync(fd, all)
      } catch {}
      return true
    },
  }
}

/** The end of the line that is cut after `written` bytes, or `written` if none is cut. */
function endOfLine(bytes: Buffer, written: number): number {
  const isCut = written > 0 && bytes[written - 1] !== LINE_FEED
  return isCut ? bytes.indexOf(LINE_FEED, written) + 1 : written
}

/** Resolves to how many bytes were written: fewer than all if the disk is full. */
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
