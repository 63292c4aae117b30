import type { Random } from '../random.ts'
import { ModelFile, type Survival } from './file.ts'
import type { Entry } from './log.ts'

/** A change of a name that is not durable yet. */
type Naming = { at: number } & ({ name: string; file: ModelFile } | { name: string; file: undefined })

/** The names in a directory: what processes see, and what a power cut may leave of it. */
function createNames() {
  const present = new Map<string, ModelFile>()
  let durable = new Map<string, ModelFile>()
  let pending: Naming[] = []

  function applied(changes: Naming[]): Map<string, ModelFile> {
    const result = new Map(durable)
    for (const { name, file } of changes) {
      if (file) result.set(name, file)
      else result.delete(name)
    }
    return result
  }

  return {
    present,

    /** Undefined: the name is removed. */
    set(name: string, file: ModelFile | undefined, at: number): void {
      if (file) present.set(name, file)
      else present.delete(name)
      pending.push({ at, name, file })
    },

    /** A sync of the directory that began at this entry has succeeded. */
    synced(began: number): void {
      durable = applied(pending.filter(({ at }) => at < began))
      pending = pending.filter(({ at }) => at >= began)
    },

    /** The names after a power cut. */
    after(survival: Survival, random: Random): Map<string, ModelFile> {
      if (survival === 'everything') return applied(pending)
      const kept = survival === 'nothing' ? 0 : random.between(0, pending.length + 1)
      return applied(pending.slice(0, kept))
    },
  }
}

/** A directory on a disk that may lose power. Apply the entries of the log in their order, and cut at any of them. */
export function createModel() {
  const files = new Map<bigint, ModelFile>()
  const names = createNames()
  const began = new Map<bigint, number>()

  function apply(entry: Entry, at: number): void {
    switch (entry.type) {
      case 'open': {
        if (!entry.isNew && names.present.has(entry.name)) break
        const file = new ModelFile(entry.mode)
        files.set(entry.inode, file)
        names.set(entry.name, file, at)
        break
      }
      case 'write':
        files.get(entry.inode)?.write(at, entry.offset, entry.bytes)
        break
      case 'truncate':
        files.get(entry.inode)?.truncate(at, entry.size)
        break
      case 'mode':
        files.get(entry.inode)?.chmod(entry.mode)
        break
      case 'unlink':
        names.set(entry.name, undefined, at)
        break
      case 'rename':
        names.set(entry.to, names.present.get(entry.from), at)
        names.set(entry.from, undefined, at)
        break
      case 'sync begin':
        began.set(entry.number, at)
        break
      case 'sync end':
        synced(entry, began.get(entry.number) as number)
    }
  }

  function synced({ inode, failed }: Entry & { type: 'sync end' }, began: number): void {
    const file = files.get(inode)
    if (file && failed) file.dropped(began)
    else if (file) file.synced(began)
    else if (!failed) names.synced(began)
  }

  /** What is in the directory after a power cut now. Each file survives as `survivalOf` says, and so do the names. */
  function cut(survivalOf: () => Survival, random: Random) {
    return [...names.after(survivalOf(), random)].map(([name, file]) => ({ name, ...file.after(survivalOf(), random) }))
  }

  return {
    apply,
    cut,
    /** What the processes see in the directory. */
    now: () => [...names.present].map(([name, file]) => ({ name, bytes: file.now() })),
    hasPending: (name: string) => names.present.get(name)?.hasPending === true,
  }
}
