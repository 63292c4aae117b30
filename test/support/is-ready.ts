import type { Store } from '../../src/domain/store.ts'

/** Whether a store can be used now. */
export async function isReady(store: Pick<Store, 'ping'>): Promise<boolean> {
  const [{ status }] = await Promise.allSettled([store.ping()])
  return status === 'fulfilled'
}
