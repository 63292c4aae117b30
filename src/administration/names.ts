import type { ApplicationKey, ApplicationNames } from '../domain/application.ts'
import type { Store } from '../domain/store.ts'

/** How many names are read and compared at a time: 0.2 ms of work. */
export const NAMES_AT_A_TIME = 250

/** Between two reads, so that a tenth of the time at most goes into looking: the same process may issue tokens. */
const PAUSE_MS = 2

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
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
  }
}
