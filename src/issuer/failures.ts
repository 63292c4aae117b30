import { prefixOf } from '../domain/address.ts'
import { type Budget, createBudgets } from '../domain/budgets.ts'
import { AuthenticationRefused, RequestRefused } from '../domain/refusal.ts'
import type { Clock } from '../domain/time.ts'

/** Failures with one client id from one prefix. */
const PER_CLIENT: Budget = { atOnce: 10, interval: 6000 }

/** Failures from one prefix, whatever the client ids. */
const PER_PREFIX: Budget = { atOnce: 100, interval: 1000 }

/** Longer client ids cannot be registered, so they are told apart by their beginning only. Characters. */
const CLIENT_ID_LENGTH = 201

/** Who may fail: the client id as it was sent, and the address that it came from. */
export interface Caller {
  clientId: string
  remoteAddress: string
  /** Whether a client has this id, for the log; false where that is not known. */
  isRegistered?: boolean
}

export interface FailureOptions {
  isLimited: boolean
  /** Whether an address is that of many clients: its prefix then does not say who fails. */
  isShared: (address: string) => boolean
  monotonic: Clock
}

export type Failures = ReturnType<typeof createFailures>

/**
 * Limits failed authentications, RFC 6749 §2.3.1. They are counted under what was sent, known or not, and what succeeds
 * costs nothing: so nobody can lock a client out, or learn from a refusal whether there is one (docs/adr/0014).
 */
export function createFailures({ isLimited, isShared, monotonic }: FailureOptions) {
  const budgets = createBudgets(monotonic)

  /**
   * Does what may come to an AuthenticationRefused; nothing else that happens is a failure. It is counted before, for many
   * may begin at the same time. Throws RequestRefused where there were too many.
   */
  async function attempt<Result>(caller: Caller, authenticate: () => Promise<Result>): Promise<Result> {
    if (isLimited) count(caller)
    try {
      const result = await authenticate()
      if (isLimited) takeBack(caller)
      return result
    } catch (error) {
      if (isLimited && !(error instanceof AuthenticationRefused)) takeBack(caller)
      throw error
    }
  }

  function count(caller: Caller): void {
    const { prefix, spendsPrefix } = place(caller)
    let wait = spendsPrefix ? budgets.spend(prefix, PER_PREFIX) : 0
    if (wait === 0) {
      wait = budgets.spend(together(prefix, caller), PER_CLIENT)
      // A client that tries on and on does not use up what its neighbours may.
      if (wait > 0 && spendsPrefix) budgets.giveBack(prefix, PER_PREFIX)
    }
    if (wait === 0) return
    const clientId = caller.isRegistered ? caller.clientId : undefined
    throw new RequestRefused('too many failures', { retryAfter: Math.ceil(wait / 1000), clientId })
  }

  function takeBack(caller: Caller): void {
    const { prefix, spendsPrefix } = place(caller)
    if (spendsPrefix) budgets.giveBack(prefix, PER_PREFIX)
    budgets.giveBack(together(prefix, caller), PER_CLIENT)
  }

  /** Who takes turns with others where work is expensive: a prefix; behind a shared address a client id. */
  function partyOf(caller: Caller): string {
    const { prefix, spendsPrefix } = place(caller)
    return spendsPrefix ? prefix : together(prefix, caller)
  }

  function place({ remoteAddress }: Caller) {
    return { prefix: prefixOf(remoteAddress), spendsPrefix: !isShared(remoteAddress) }
  }

  return { attempt, partyOf }
}

function together(prefix: string, { clientId }: Caller): string {
  return `${prefix} ${clientId.slice(0, CLIENT_ID_LENGTH)}`
}
