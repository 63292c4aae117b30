import type { Random } from '../random.ts'
import { ModelFile, type Survival } from './file.ts'
import type { Entry } from './log.ts'

/** A change of a name that is not durable yet. */
type Naming = { at: number } & ({ name: string; file: ModelFile } | { name: string; file: undefined })

/** A directory on a disk that may lose power. Apply the entries of the log in their order, and cut at any of them. */
export function createModel() {
  const files = new Map<bigint, ModelFile>()
  const names = new Map<string, ModelFile>()
  let durableNames = new Map<string, ModelFile>()
  let pendingNames: Naming[] = []
  const began = new Map<bigint, number>()

  function apply(entry: Entry, at: number): void {
    switch (entry.type) {
      case 'open': {
        if (!entry.isNew && names.has(entry.name)) break
        const file = new ModelFile(entry.mode)
        files.set(entry.inode, file)
        name(entry.name, file, at)
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
        name(entry.name, undefined, at)
        break
      case 'rename':
        name(entry.to, names.get(entry.from), at)
        name(entry.from, undefined, at)
        break
      case 'sync begin':
        began.set(entry.number, at)
        break
      case 'sync end':
        synced(entry, began.get(entry.number) as number)
    }
  }

  function name(name: string, file: ModelFile | undefined, at: number): void {
    if (file) names.set(name, file)
    else names.delete(name)
    pendingNames.push({ at, name, file })
  }

  function synced({ inode, failed }: Entry & { type: 'sync end' }, began: number): void {
    const file = files.get(inode)
    if (file && failed) file.dropped(began)
    else if (file) file.synced(began)
    else if (!failed) {
      durableNames = named(pendingNames.filter(({ at }) => at < began))
      pendingNames = pendingNames.filter(({ at }) => at >= began)
    }
  }

  function named(changes: Naming[]): Map<string, ModelFile> {
    const result = new Map(durableNames)
    for (const { name, file } of changes) {
      if (file) result.set(name, file)
      else result.delete(name)
    }
    return result
  }

  /** What is in the directory after a power cut now. Each file survives as `survivalOf` says, and so do the names. */
  function cut(survivalOf: () => Survival, random: Random) {
    const ofNames = survivalOf()
    const kept =
      ofNames === 'nothing' ? 0 : ofNames === 'everything' ? Infinity : random.between(0, pendingNames.length + 1)
    return [...named(pendingNames.slice(0, kept))].map(([name, file]) => ({
      name,
      ...file.after(survivalOf(), random),
    }))
  }

  return {
    apply,
    cut,
    /** What the processes see in the directory. */
    now: () => [...names].map(([name, file]) => ({ name, bytes: file.now() })),
    hasPending: (name: string) => names.get(name)?.hasPending === true,
  }
}
