/**
 * Returns a function that asks for a job. It is done when `ready`, and never twice at a time: all who ask while one is under
 * way, or before, get one more. Where `ready` fails it is not done.
 */
export function oneAtATime(ready: Promise<unknown>, job: () => Promise<void>): () => void {
  let isAskedFor = false
  let isRunning = false

  async function run(): Promise<void> {
    isRunning = true
    while (isAskedFor) {
      isAskedFor = false
      await job()
    }
    isRunning = false
  }

  return () => {
    if (!isAskedFor && !isRunning) ready.then(run, () => {})
    isAskedFor = true
  }
}
