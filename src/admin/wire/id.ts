import { ProblemError } from './problem.ts'

/** The numeric id of a secret, key or session in a path. Throws ProblemError (404) if it is not a number. */
export function idOf(text: string): number {
  if (/^[1-9]\d{0,14}$/.test(text)) return Number(text)
  throw new ProblemError({ status: 404, detail: 'There is nothing here.' })
}
