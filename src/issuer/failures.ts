import { AuthenticationRefused, RequestRefused } from '../domain/refusal.ts'
import type { Clock } from '../domain/time.ts'
import { type Budget, createBudgets } from '../limits/budgets.ts'
import { prefixOf } from '../web/address.ts'
import type { Party } from './turns.ts'

/** Failures with one client id from one address prefix. */
const PER_CLIENT: Budget = { atOnce: 10, interval: 6000 }

/** Failures from one address prefix with any client ids. */
const PER_PREFIX: Budget = { atOnce: 100, interval: 1000 }

/** How many characters of a client id are compared: one more than a registered one can have. */
const CLIENT_ID_LENGTH = 201

interface Caller {
  clientId: string
  remoteAddress: string
  /** Whether the client id is registered, if known. */
  isRegistered?: boolean
}

export interface FailureOptions {
  isLimited: boolean
  /** Whether many clients share an address, so that its prefix does not identify one. */
  isShared: (address: string) => boolean
  monotonic: Clock
}

export type Failures = ReturnType<typeof createFailures>

/**
 * Limits failed authentications, RFC 6749 §2.3.1. They are counted by the client id that was sent, registered or not, and
 * successes are not counted: so nobody can lock a client out, or learn from a refusal whether it exists (docs/adr/0014).
 */
export function createFailures({ isLimited, isShared, monotonic }: FailureOptions) {
  const budgets = createBudgets(monotonic)

  /**
   * Runs an authentication. Only AuthenticationRefused counts as a failure; it is counted in advance, because many may run at
   * the same time. Throws RequestRefused after too many failures.
   */
  async function attempt<Result>(caller: Caller, authenticate: () => Promise<Result>): Promise<Result> {
    if (!isLimited) return authenticate()
    count(caller)
    try {
      const result = await authenticate()
      uncount(caller)
      return result
    } catch (error) {
      if (!(error instanceof AuthenticationRefused)) uncount(caller)
      throw error
    }
  }

  function count(caller: Caller): void {
    const { prefix, client, spendsPrefix } = namesOf(caller)
    let wait = spendsPrefix ? budgets.spend(prefix, PER_PREFIX) : 0
    if (wait === 0) {
      wait = budgets.spend(client, PER_CLIENT)
      // A client that keeps failing does not use up the budget of its neighbours.
      if (wait > 0 && spendsPrefix) budgets.giveBack(prefix, PER_PREFIX)
    }
    if (wait === 0) return
    const clientId = caller.isRegistered ? caller.clientId : undefined
    throw new RequestRefused('too many failures', { retryAfter: Math.ceil(wait / 1000), clientId })
  }

  function uncount(caller: Caller): void {
    const { prefix, client, spendsPrefix } = namesOf(caller)
    if (spendsPrefix) budgets.giveBack(prefix, PER_PREFIX)
    budgets.giveBack(client, PER_CLIENT)
  }

  /** The party of a caller in the queue for expensive work. It never depends on the client id, which a caller can make up. */
  function partyOf({ remoteAddress, isRegistered = false }: Caller): Party {
    return { prefix: prefixOf(remoteAddress), isShared: isShared(remoteAddress), isRegistered }
  }

  function namesOf({ clientId, remoteAddress }: Caller) {
    const prefix = prefixOf(remoteAddress)
    const client = `${prefix} ${clientId.slice(0, CLIENT_ID_LENGTH)}`
    return { prefix, client, spendsPrefix: !isShared(remoteAddress) }
  }

  return { attempt, partyOf }
}
