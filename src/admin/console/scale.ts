/** Mantissas of round numbers: 10, 15, 20, 25 … */
const ROUND = [1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10]

/**
 * The interval between the labels of a y axis: the smallest round number for which `steps` intervals cover all figures. It is a
 * multiple of `least`.
 */
export function scaleFor(figures: readonly number[], { steps, least }: { steps: number; least: number }): number {
  const needed = Math.max(...figures, 0) / steps / least
  if (needed <= 1) return least
  const power = 10 ** Math.floor(Math.log10(needed))
  const candidates = ROUND.map((mantissa) => mantissa * power)
  return least * (candidates.find((candidate) => candidate >= needed && Number.isInteger(candidate)) as number)
}
