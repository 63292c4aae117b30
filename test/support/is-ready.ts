import type { Store } from '../../src/domain/store.ts'

/** Whether a store can be used now. */
export function isReady(store: Pick<Store, 'ping'>): Promise<boolean> {
  return store.ping().then(
    () => true,
    () => false,
  )
}
