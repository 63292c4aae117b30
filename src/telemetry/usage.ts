import type { Observer } from '../domain/events.ts'
import { inSteps } from '../domain/in-steps.ts'
import type { Store } from '../domain/store.ts'
import { detachText } from '../domain/text.ts'
import type { Clock } from '../domain/time.ts'
import type { Counts } from '../domain/usage.ts'
import { isRefusal, refusalOf } from './refusals.ts'

/** How many clients are written at a time: a millisecond's work on SQLite. */
const STEP = 50

/** Counts what each registered client does, and all clients together (''), until `flush` hands the counts to the store. */
export function createUsage({ now }: { now: Clock }) {
  const counters = new Map<string, { -readonly [Kind in keyof Counts]: number }>()

  function of(clientId: string) {
    const known = counters.get(clientId)
    if (known) return known
    const counter = { tokens: 0, checks: 0, refusals: 0 }
    counters.set(detachText(clientId), counter)
    return counter
  }

  /** Counts a check that found a token valid. */
  function countCheck(clientId: string, suite: string | undefined): void {
    of('').checks++
    of(clientId).checks++
    if (suite !== undefined) of(suite).checks++
  }

  const observe: Observer = (event) => {
    if (event.type === 'token issued') {
      of('').tokens++
      of(event.clientId).tokens++
    }
    if (!isRefusal(event)) return
    of('').refusals++
    const { clientId, isKnown, suite } = refusalOf(event, now) ?? {}
    if (clientId !== undefined && isKnown) of(clientId).refusals++
    if (suite !== undefined && suite !== clientId) of(suite).refusals++
  }

  /** Hands the counts to the store, in small steps. Throws StoreUnavailable; the next flush tries again. */
  async function flush(store: Pick<Store, 'addUsage'>): Promise<void> {
    await inSteps(
      [...counters.keys()],
      async (clientIds) => {
        const taken = clientIds.map((clientId) => ({ clientId, ...of(clientId) }))
        for (const clientId of clientIds) counters.delete(clientId)
        await store.addUsage(taken, now()).catch((error) => {
          for (const { clientId, ...counts } of taken) {
            const counter = of(clientId)
            counter.tokens += counts.tokens
            counter.checks += counts.checks
            counter.refusals += counts.refusals
          }
          throw error
        })
      },
      STEP,
    )
  }

  return { countCheck, observe, flush }
}
