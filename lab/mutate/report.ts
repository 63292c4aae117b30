import type { Mutation } from './mutations.ts'

/** A mutation for people to read: the lines that it changes, before and after, with single spaces. */
export interface Described {
  file: string
  line: number
  original: string
  mutant: string
}

/** A survivor that no test can notice, or need not, and why: an entry of survivors.json. */
export interface Explained extends Omit<Described, 'line'> {
  why: string
}

export interface Result extends Described {
  outcome: 'noticed' | 'explained' | 'survived'
}

export function describe({ file, start, end, replacement }: Mutation, source: string): Described {
  const from = source.lastIndexOf('\n', start - 1) + 1
  const to = source.indexOf('\n', end)
  const [before, after] = [source.slice(from, start), source.slice(end, to === -1 ? undefined : to)]
  const oneLine = (text: string) => text.replace(/\s+/g, ' ').trim()
  return {
    file,
    line: source.slice(0, start).split('\n').length,
    original: oneLine(before + source.slice(start, end) + after),
    mutant: oneLine(before + replacement + after),
  }
}

export function isSame(a: Omit<Described, 'line'>, b: Omit<Described, 'line'>): boolean {
  return a.file === b.file && a.original === b.original && a.mutant === b.mutant
}

export function survivorText({ file, line, original, mutant }: Described): string {
  return `${file}:${line}\n    ${original}\n -> ${mutant}`
}

/** The folders of src, the outcomes of their mutants, and the share that was noticed or is explained. */
export function byFolder(results: Result[]) {
  const folders = Object.groupBy(results, ({ file }) => file.split('/')[1] as string)
  return Object.entries(folders)
    .map(([folder, mutants = []]) => {
      const count = (outcome: Result['outcome']) => mutants.filter((mutant) => mutant.outcome === outcome).length
      const [noticed, explained, survived] = [count('noticed'), count('explained'), count('survived')]
      return { folder, mutants: mutants.length, noticed, explained, survived, share: 1 - survived / mutants.length }
    })
    .sort((a, b) => a.folder.localeCompare(b.folder))
}
