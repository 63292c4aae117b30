import type { Random } from '../random.ts'
import { CANARY } from './known.ts'

/** The choices that every grammar makes. `usual`: the probability that a part is as it should be. */
export function createChoices(random: Random, usual: number) {
  let count = 0
  return {
    random,

    /** A new text that must not be in the log. */
    canary: () => `${CANARY}${count++}`,

    often: <T>(first: T, others: readonly T[]) => (random.chance(usual) ? first : random.pick(others)),

    /** Lines, and a function that adds some of them with a probability. */
    createLines() {
      const lines: string[] = []
      const maybe = (probability: number, ...some: string[]) => random.chance(probability) && lines.push(...some)
      return { lines, maybe }
    },
  }
}

export type Choices = ReturnType<typeof createChoices>
