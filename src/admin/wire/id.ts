import { ProblemError } from './problem.ts'

/** The number that a path names a secret, a key or a session by. Throws 404 where it is none: there can be nothing of that id. */
export function idOf(text: string): number {
  if (/^[1-9]\d{0,14}$/.test(text)) return Number(text)
  throw new ProblemError({ status: 404, detail: 'There is nothing here.' })
}
