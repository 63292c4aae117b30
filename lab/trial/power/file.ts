import type { Random } from '../random.ts'

/** The units that the system writes back, and that a disk writes, as a whole. Bytes. */
const PAGE = 4096
const SECTOR = 512

/** A change that is not on disk yet: whole pages as they were in memory after it, and the size of the file. */
interface Change {
  /** The index of its entry in the log. */
  at: number
  pages: { page: number; bytes: Buffer }[]
  size: number
}

/** The bytes of a file, which may be followed by more that do not count. */
interface Image {
  bytes: Buffer
  size: number
}

/** Which of the pending changes of a file may survive. */
export const SURVIVALS = ['nothing', 'everything', 'a torn prefix', 'any sectors', 'any pages'] as const
export type Survival = (typeof SURVIVALS)[number]

/** A file on a disk that may lose power: what is durable, and what only the system's memory has. */
export class ModelFile {
  private memory: Buffer = Buffer.alloc(0)
  private size = 0
  private durable: Buffer = Buffer.alloc(0)
  private durableSize = 0
  private pending: Change[] = []
  private mode: number
  private durableMode: number

  constructor(mode: number) {
    this.mode = mode
    this.durableMode = mode
  }

  get hasPending(): boolean {
    return this.pending.length > 0
  }

  write(at: number, offset: number, bytes: Buffer): void {
    this.memory = grown(this.memory, offset + bytes.length)
    bytes.copy(this.memory, offset)
    this.size = Math.max(this.size, offset + bytes.length)
    const pages = []
    for (let page = Math.floor(offset / PAGE); page * PAGE < offset + bytes.length; page++)
      pages.push(this.pageNow(page))
    this.pending.push({ at, pages, size: this.size })
  }

  truncate(at: number, size: number): void {
    this.memory = grown(this.memory, size)
    this.memory.fill(0, Math.min(size, this.size))
    this.size = size
    // The rest of the last page is zero; what lies behind it is gone with the size.
    const pages = size % PAGE === 0 ? [] : [this.pageNow(Math.floor(size / PAGE))]
    this.pending.push({ at, pages, size })
  }

  chmod(mode: number): void {
    this.mode = mode
  }

  /** A sync that began at this entry has succeeded: what came before it is durable. */
  synced(began: number): void {
    const done = this.pending.filter(({ at }) => at < began)
    this.pending = this.pending.filter(({ at }) => at >= began)
    for (const change of done) {
      const { bytes, size } = applied({ bytes: this.durable, size: this.durableSize }, change)
      this.durable = bytes
      this.durableSize = size
    }
    this.durableMode = this.mode
  }

  /**
   * A sync that began at this entry has failed: the system marks the pages clean, so nothing that came before it is ever
   * written, unless the page is written to again. Only the size may still get there.
   */
  dropped(began: number): void {
    this.pending = this.pending.map((change) => (change.at < began ? { ...change, pages: [] } : change))
  }

  /** What the processes see. */
  now(): Buffer {
    return Buffer.from(this.memory.subarray(0, this.size))
  }

  /** What is there after a power cut. */
  after(survival: Survival, random: Random): { bytes: Buffer; mode: number } {
    const mode = random.pick([this.mode, this.durableMode])
    if (survival === 'everything') return { bytes: this.everything(), mode }
    let image: Image = { bytes: Buffer.from(this.durable), size: this.durableSize }
    if (survival === 'a torn prefix') {
      const whole = random.between(0, this.pending.length + 1)
      for (const change of this.pending.slice(0, whole)) image = applied(image, change)
      const torn = this.pending[whole]
      if (torn) image = applied(image, torn, random.between(0, (torn.pages.length * PAGE) / SECTOR))
    } else if (survival !== 'nothing') image = this.mixed(image, survival === 'any pages' ? PAGE : SECTOR, random)
    return { bytes: image.bytes.subarray(0, image.size), mode }
  }

  /** All changes in their order. Not the content of `memory`, which still has what a failed sync has dropped. */
  private everything(): Buffer {
    let image: Image = { bytes: Buffer.from(this.durable), size: this.durableSize }
    for (const change of this.pending) image = applied(image, change)
    return image.bytes.subarray(0, image.size)
  }

  /** Every block at one of the versions that it had since it was durable, and the file at one of its sizes. */
  private mixed(durable: Image, block: number, random: Random): Image {
    const size = random.pick([durable.size, ...this.pending.map((change) => change.size)])
    const bytes = Buffer.alloc(Math.ceil(Math.max(size, 1) / PAGE) * PAGE)
    durable.bytes.copy(bytes, 0, 0, Math.min(durable.size, bytes.length))
    const versions = new Map<number, Buffer[]>()
    for (const { pages } of this.pending) {
      for (const { page, bytes } of pages) versions.set(page, [...(versions.get(page) ?? []), bytes])
    }
    for (const [page, all] of versions) {
      for (let at = 0; at < PAGE; at += block) {
        const version = random.between(-1, all.length)
        if (version >= 0) all[version]?.copy(bytes, page * PAGE + at, at, at + block)
      }
    }
    return { bytes, size }
  }

  private pageNow(page: number) {
    this.memory = grown(this.memory, (page + 1) * PAGE)
    return { page, bytes: Buffer.from(this.memory.subarray(page * PAGE, (page + 1) * PAGE)) }
  }
}

/** An image after a change, or after its first sectors only. */
function applied(image: Image, { pages, size }: Change, sectors = Infinity): Image {
  let bytes = image.bytes
  let left = sectors * SECTOR
  for (const { page, bytes: content } of pages) {
    const length = Math.min(PAGE, left)
    if (length <= 0) break
    bytes = grown(bytes, (page + 1) * PAGE)
    content.copy(bytes, page * PAGE, 0, length)
    left -= length
  }
  // A change of which only a part got there did not change the size.
  const sizeNow = sectors === Infinity ? size : image.size
  bytes = grown(bytes, sizeNow)
  if (sizeNow < image.size) bytes.fill(0, sizeNow)
  return { bytes, size: sizeNow }
}

/** The same bytes, extended with zeros to at least this length. */
function grown(bytes: Buffer, length: number): Buffer {
  if (bytes.length >= length) return bytes
  const larger = Buffer.alloc(Math.max(length, Math.floor(bytes.length * 1.5)))
  bytes.copy(larger)
  return larger
}
