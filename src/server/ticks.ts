import { executionAsyncResource } from 'node:async_hooks'

const kept = new Set<object>()

/**
 * Keeps process.nextTick fast, which Node.js calls several times per request. Where V8 collects garbage while no tick is
 * pending, it drops the hidden class of the objects that stand for them, and makes all later ones in a slow way from
 * then on (docs/performance). An object that is kept alive keeps the class.
 */
export function keepTicksFast(): void {
  process.nextTick(() => kept.add(executionAsyncResource()))
}
