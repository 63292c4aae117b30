import type { Observer } from '../domain/events.ts'
import { drain } from '../domain/in-steps.ts'
import type { NewRefusedRequest } from '../domain/refusal.ts'
import type { Store } from '../domain/store.ts'
import { detachText } from '../domain/text.ts'
import type { Clock } from '../domain/time.ts'
import type { ClientCounts, Counts } from '../domain/usage.ts'

/** Counts what each registered client does, and all clients together (''), until `flush` hands the counts to the store. */
export function createUsage({ now }: { now: Clock }) {
  const counters = new Map<string, { -readonly [Kind in keyof Counts]: number }>()
  let all = of('')

  function of(clientId: string) {
    const known = counters.get(clientId)
    if (known) return known
    const counter = { tokens: 0, checks: 0, refusals: 0 }
    counters.set(detachText(clientId), counter)
    return counter
  }

  function countCheck(clientId: string, suite: string | undefined): void {
    all.checks++
    of(clientId).checks++
    if (suite !== undefined) of(suite).checks++
  }

  function countRefusal({ clientId, isKnown, suite }: NewRefusedRequest): void {
    all.refusals++
    if (clientId && isKnown) of(clientId).refusals++
    if (suite && suite !== clientId) of(suite).refusals++
  }

  const observe: Observer = (event) => {
    if (event.type !== 'token issued') return
    all.tokens++
    of(event.clientId).tokens++
  }

  function takeAll(): ClientCounts[] {
    const taken = [...counters].map(([clientId, counter]) => ({ clientId, ...counter }))
    counters.clear()
    all = of('')
    return taken.filter(({ tokens, checks, refusals }) => tokens + checks + refusals > 0)
  }

  function add({ clientId, tokens, checks, refusals }: ClientCounts): void {
    const counter = of(clientId)
    counter.tokens += tokens
    counter.checks += checks
    counter.refusals += refusals
  }

  return {
    countCheck,
    countRefusal,
    observe,
    /** Hands the counts to the store, in small steps. Throws StoreUnavailable; the next flush tries again. */
    flush: (store: Pick<Store, 'addUsage'>) => drain(takeAll, (step) => store.addUsage(step, now()), add),
  }
}
