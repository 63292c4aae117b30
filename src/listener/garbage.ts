import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** Shared by all listeners of the process. */
let collection: NodeJS.Timeout | undefined

/**
 * Makes V8 collect garbage when the heap has grown by 80 percent, until the first call's `time` (milliseconds) after the last. Then
 * everything is collected: an idle process would otherwise keep the memory that its start or a crowd of clients took.
 */
export function saveMemory(time: number): void {
  if (!collection) setFlagsFromString('--heap-growing-percent=80')
  collection = (collection ?? setTimeout(collectGarbage, time).unref()).refresh()
}

function collectGarbage(): void {
  collection = undefined
  setFlagsFromString('--heap-growing-percent=0')
  setFlagsFromString('--expose-gc')
  runInNewContext('gc')()
}
