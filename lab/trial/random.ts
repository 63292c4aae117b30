export type Random = ReturnType<typeof createRandom>

/** Random choices that a seed repeats: sfc32, seeded by the text's characters. */
export function createRandom(seed: string) {
  const state = [0x9e3779b9, 0x243f6a88, 0xb7e15162, 1]
  for (const character of seed)
    state[0] = Math.imul((state[0] as number) ^ (character.codePointAt(0) as number), 0x01000193)
  for (let n = 0; n < 16; n++) next()

  function next(): number {
    const [a, b, c, d] = state as [number, number, number, number]
    const sum = (a + b + d) | 0
    state[0] = b ^ (b >>> 9)
    state[1] = (c + (c << 3)) | 0
    state[2] = (((c << 21) | (c >>> 11)) + sum) | 0
    state[3] = (d + 1) | 0
    return (sum >>> 0) / 2 ** 32
  }

  /** A whole number from `from` to below `to`. */
  const between = (from: number, to: number) => from + Math.floor(next() * (to - from))

  return {
    between,
    chance: (probability: number) => next() < probability,
    pick: <T>(all: readonly T[]) => all[between(0, all.length)] as T,
    bytes: (length: number) => Buffer.from(Array.from({ length }, () => between(0, 256))),
  }
}
