import type { ApplicationKey, ApplicationNames } from '../domain/application.ts'
import type { Store } from '../domain/store.ts'

/** How many names are read at a time: about a millisecond's work. */
export const NAMES_AT_A_TIME = 1000

/** The names of all applications, newest first, in steps between which requests get their turn. */
export async function* stepsOfNames(
  store: Pick<Store, 'listNames'>,
  { after = undefined as ApplicationKey | undefined, size = NAMES_AT_A_TIME } = {},
): AsyncGenerator<ApplicationNames[]> {
  let last = after
  for (;;) {
    const names = await store.listNames({ after: last, limit: size })
    yield names
    if (names.length < size) return
    last = names.at(-1)?.key
    await new Promise(setImmediate)
  }
}
