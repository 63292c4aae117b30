import { inSteps } from '../domain/in-steps.ts'
import type { Store } from '../domain/store.ts'

export type SecretUses = ReturnType<typeof createSecretUses>

/** Remembers when each secret last authenticated its owner, until `flush` hands it to the store. */
export function createSecretUses({ store }: { store: Store }) {
  let uses = new Map<number, number>()

  /** `at`: milliseconds since the epoch. */
  function note(secretId: number, at: number): void {
    uses.set(secretId, at)
  }

  /** Throws StoreUnavailable; the next flush tries again. */
  async function flush(): Promise<void> {
    const taken = uses
    uses = new Map()
    const rows = [...taken].map(([secretId, lastUsedAt]) => ({ secretId, lastUsedAt }))
    try {
      await inSteps(rows, (step) => store.recordSecretUses(step))
    } catch (error) {
      uses = new Map([...taken, ...uses])
      throw error
    }
  }

  return { note, flush }
}
