import type { ApplicationKey, ApplicationNames } from '../domain/application.ts'
import type { Store } from '../domain/store.ts'

/** Names read and compared per step: 0.1 ms of work. */
export const NAMES_AT_A_TIME = 100

/** Pause between steps, so that a search takes at most a tenth of the CPU: the same process may be issuing tokens. */
const PAUSE_MS = 1

/** The names of all applications, newest first, in steps that let other requests run in between. */
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
    // On a busy machine the next timer may be due already: without this it would fire before waiting requests are read.
    await new Promise(setImmediate)
  }
}
