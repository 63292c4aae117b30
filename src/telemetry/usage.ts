import type { Observer } from '../domain/events.ts'
import { inSteps } from '../domain/in-steps.ts'
import type { Store } from '../domain/store.ts'
import { detachText } from '../domain/text.ts'
import type { Clock } from '../domain/time.ts'
import type { ClientCounts } from '../domain/usage.ts'
import { isOfKnown, isRefusal } from './refusals.ts'

/** How many clients are written at a time: a millisecond's work on SQLite. */
const STEP = 50

/** Counts what each registered client does, and all together (''), until `flush` hands the counts to the store. */
export function createUsage({ now }: { now: Clock }) {
  let counters = new Map<string, ClientCounts>()

  function of(clientId: string): ClientCounts {
    let counter = counters.get(clientId)
    if (!counter) {
      counter = { clientId: detachText(clientId), tokens: 0, checks: 0, refusals: 0 }
      counters.set(counter.clientId, counter)
    }
    return counter
  }

  /** Counts a check of a valid token. For every check, so it allocates nothing. */
  function countCheck(clientId: string, suite: string | undefined): void {
    of('').checks++
    of(clientId).checks++
    if (suite !== undefined) of(suite).checks++
  }

  /** Counts tokens and refusals. */
  const observe: Observer = (event) => {
    if (event.type === 'token issued') {
      of('').tokens++
      of(event.clientId).tokens++
    } else if (isRefusal(event)) {
      const { clientId } = event
      const suite = 'suite' in event ? event.suite : undefined
      of('').refusals++
      if (clientId !== undefined && isOfKnown(event)) of(clientId).refusals++
      if (suite !== undefined && suite !== clientId) of(suite).refusals++
    }
  }

  return {
    countCheck,
    observe,

    /** Hands the counts to the store, in small steps. Throws StoreUnavailable; the next flush tries again. */
    async flush(store: Pick<Store, 'addUsage'>): Promise<void> {
      const taken = [...counters.values()]
      counters = new Map()
      let written = 0
      const write = async (step: ClientCounts[]) => {
        await store.addUsage(step, now())
        written += step.length
      }
      try {
        await inSteps(taken, write, STEP)
      } catch (error) {
        for (const { clientId, tokens, checks, refusals } of taken.slice(written)) {
          const counter = of(clientId)
          counter.tokens += tokens
          counter.checks += checks
          counter.refusals += refusals
        }
        throw error
      }
    },
  }
}
