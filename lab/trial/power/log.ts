/** An entry of the log of the disk. A sync with `inode` 0 is one of the directory. */
export type Entry = { time: bigint } & (
  | { type: 'open'; inode: bigint; name: string; isNew: boolean; mode: number }
  | { type: 'write'; inode: bigint; offset: number; bytes: Buffer }
  | { type: 'truncate'; inode: bigint; size: number }
  | { type: 'unlink'; name: string }
  | { type: 'rename'; from: string; to: string }
  | { type: 'mode'; inode: bigint; mode: number }
  | { type: 'sync begin'; inode: bigint; number: bigint }
  | { type: 'sync end'; inode: bigint; number: bigint; failed: boolean }
)

const HEADER = 40

/** Reads the log that disk.c has written. */
export function readLog(log: Buffer): Entry[] {
  const entries: Entry[] = []
  for (let at = 0; at + HEADER <= log.length; ) {
    const length = log.readUInt32LE(at + 4)
    const bytes = log.subarray(at + HEADER, at + HEADER + length)
    entries.push(entryOf(log.subarray(at, at + HEADER), bytes))
    at += HEADER + length
  }
  return entries
}

function entryOf(header: Buffer, bytes: Buffer): Entry {
  const time = header.readBigUInt64LE(8)
  const inode = header.readBigUInt64LE(16)
  const offset = Number(header.readBigInt64LE(24))
  const number = header.readBigInt64LE(32)
  switch (header.readUInt32LE(0)) {
    case 1:
      return { type: 'open', time, inode, name: bytes.toString(), isNew: number === 1n, mode: offset }
    case 2:
      return { type: 'write', time, inode, offset, bytes }
    case 3:
      return { type: 'truncate', time, inode, size: offset }
    case 4:
      return { type: 'unlink', time, name: bytes.toString() }
    case 5: {
      const [from = '', to = ''] = bytes.toString().split('\n')
      return { type: 'rename', time, from, to }
    }
    case 6:
      return { type: 'mode', time, inode, mode: offset }
    case 7:
      return { type: 'sync begin', time, inode, number }
    case 8:
      return { type: 'sync end', time, inode, number, failed: offset !== 0 }
    default:
      throw new Error('The log of the disk is unreadable.')
  }
}
