import type { Config } from '../config.ts'

/**
 * Returns a function that loads a part of the program at its first call, and again if that failed. A leader loads it at once: it
 * keeps running when an upgrade has replaced the files (docs/operations/install-and-run.md#rolling-restart).
 */
export async function onDemand<Part>({ WORKERS }: Pick<Config, 'WORKERS'>, load: () => Promise<Part>) {
  let loading: Promise<Part> | undefined
  const forget = (error: unknown) => {
    loading = undefined
    throw error
  }
  const part = () => (loading ??= load().catch(forget))
  if (WORKERS > 1) await part()
  return part
}
