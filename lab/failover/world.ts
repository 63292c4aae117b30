import type { Random } from '../trial/random.ts'
import type { Cleanup } from '../trial/trial.ts'

/** What every part of a run needs. */
export interface World {
  folder: string
  /** An installed checkout of this repository: the program that runs as nodes. */
  program: string
  cleanup: Cleanup
  random: Random
  /** Reports progress on standard error. */
  step: (text: string) => void
}
