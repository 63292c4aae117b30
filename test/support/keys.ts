import type { ApplicationKey } from '../../src/domain/application.ts'

/** A key as SQLite gives them, for tests in which no application has it. */
export function keyOf(number: number): ApplicationKey {
  return number as unknown as ApplicationKey
}
