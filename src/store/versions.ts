/** The first SQLite that does not lose commits when one process writes while another one checkpoints. */
export const OLDEST_SQLITE = '3.51.3'

/** Whether a version x.y.z is as new as another one, or newer. What is no such version is not. */
export function isAtLeast(version: string, oldest: string): boolean {
  const [numbers, oldestNumbers] = [version, oldest].map((text) => text.split('.').map(Number)) as [number[], number[]]
  const at = oldestNumbers.findIndex((number, at) => numbers[at] !== number)
  return at === -1 || (numbers[at] as number) > (oldestNumbers[at] as number)
}
