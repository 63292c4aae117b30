import type { Random } from '../trial/random.ts'
import type { Cleanup } from '../trial/trial.ts'

/** What every part of a run works with. */
export interface World {
  folder: string
  /** An installed checkout of this repository: the program that runs as nodes. */
  program: string
  cleanup: Cleanup
  random: Random
  /** Says on standard error how far the run is. */
  step: (text: string) => void
}
