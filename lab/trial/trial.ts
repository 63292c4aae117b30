import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { createRandom } from './random.ts'

/** One line of the table at the end. `undecided`: this machine cannot judge it. */
export interface Finding {
  done: string
  found: string
  verdict: 'held' | 'BROKEN' | 'skipped' | 'undecided'
}

/** One trial of the server. */
export interface Trial {
  name: string
  title: string
  run: (world: World) => Promise<void>
}

/** What a trial throws if this machine lacks what it needs. */
export class Skipped extends Error {}

/** What to undo when the program ends, however it ends. Synchronous: nothing is awaited at exit. */
export type Cleanup = Set<() => void>

/** How large the trials are. */
export interface Sizes {
  kills: number
  cuts: number
  requests: number
  minutes: number
}

/** The options of all trials of a run. */
export interface WorldOptions {
  quick: boolean
  seed: number
  sizes: Sizes
  /** Whether the soak's store is PostgreSQL, and the folder for its samples; undefined: that of the run. */
  postgres: boolean
  into: string | undefined
  /** An installed checkout of this repository: the server under trial. */
  program: string
}

/** What a trial needs. */
export type World = ReturnType<typeof openWorld>

/** Opens the world of one trial: a folder, random choices of its own, and a place for what it finds. */
export function openWorld(name: string, options: WorldOptions, { root, cleanup }: { root: string; cleanup: Cleanup }) {
  const folder = join(root, name)
  mkdirSync(folder)
  const findings: Finding[] = []
  const startedAt = performance.now()

  function step(text: string): void {
    const seconds = Math.round((performance.now() - startedAt) / 1000)
    process.stderr.write(`${String(seconds).padStart(4)} s  ${name}: ${text}\n`)
  }

  function note(verdict: Finding['verdict'], done: string, found: string): void {
    findings.push({ done, found, verdict })
    step(`${verdict}: ${done}: ${found}`)
  }

  return {
    folder,
    cleanup,
    findings,
    step,
    program: options.program,
    sizes: options.sizes,
    postgres: options.postgres,
    into: options.into,
    random: createRandom(`${options.seed} ${name}`),
    /** A number, or a small one in a quick run. */
    size: (full: number, small: number) => (options.quick ? small : full),
    /** Records what was done and found, and whether that is as it must be. */
    expect: (isMet: boolean, done: string, found: string) => note(isMet ? 'held' : 'BROKEN', done, found),
    skip: (done: string, why: string) => note('skipped', done, why),
    /** Records a finding that only a better machine could judge. */
    report: (done: string, found: string) => note('undecided', done, found),
  }
}

/** Runs a trial, or a part of one that others do not need. What it throws is a finding, too. */
export async function attempt({ expect, skip }: World, title: string, run: () => Promise<void>): Promise<void> {
  try {
    await run()
  } catch (error) {
    if (error instanceof Skipped) return skip(title, error.message)
    console.error(error)
    expect(false, title, `the trial failed: ${(error as Error).message}`)
  }
}
