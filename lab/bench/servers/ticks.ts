import { executionAsyncResource } from 'node:async_hooks'

const kept = new Set<object>()

/** As this server does at its start (src/server/serve.ts): without it, the runtime makes each tick object on a slow path. */
export function keepTicksFast(): void {
  process.nextTick(() => kept.add(executionAsyncResource()))
}
