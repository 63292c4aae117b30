/** What people count in, with a one before it: 10, 15, 20, 25 … */
const ROUND = [1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10]

/**
 * The distance between the figures at the side of a chart: a round one, with which the highest of these is no higher than the
 * last of so many steps. `least`: no less, and always so many times this.
 */
export function scaleFor(figures: readonly number[], { steps, least }: { steps: number; least: number }): number {
  const needed = Math.max(...figures, 0) / steps / least
  if (needed <= 1) return least
  const power = 10 ** Math.floor(Math.log10(needed))
  const candidates = ROUND.map((mantissa) => mantissa * power)
  return least * (candidates.find((candidate) => candidate >= needed && Number.isInteger(candidate)) as number)
}
