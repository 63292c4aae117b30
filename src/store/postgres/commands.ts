import { StoreUnavailable } from '../../domain/store.ts'
import type { Ask, Work } from '../shared/work.ts'
import { askWithin } from './connection.ts'
import type { Primary } from './primary.ts'
import type { Session } from './session.ts'
import * as sql from './statements/session.ts'

/** How long a statement may take, not counting waits for locks. If it takes longer, the session ends. */
const STATEMENT_MS = 8000

export type Commands = ReturnType<typeof createCommands>

/**
 * Runs the statements that no check waits for, one at a time, on its own connection. Requests wait for them with a JWT that is not
 * remembered, with a hand-over link and, with a quota, for an application's first token of an hour; other requests never do.
 * `lockTimeout`: how long a change waits for locks, in ms.
 */
export function createCommands(primary: Primary, lockTimeout: number) {
  // The server's own wait for a lock ends earlier: it reports that time-out, and the session stays usable.
  const timeout = lockTimeout + STATEMENT_MS
  let lastAction: Promise<unknown> = Promise.resolve()

  function enqueue<Result>(action: (ask: Ask, session: Session) => Promise<Result>): Promise<Result> {
    const result = lastAction.then(async () => {
      const session = await primary.session()
      return action(askWithin(session.commands, timeout), session)
    })
    lastAction = result.catch(() => {})
    return result
  }

  const transaction = <Result>(begin: string, action: (ask: Ask) => Promise<Result>) =>
    enqueue(async (ask) => {
      await ask(begin)
      const result = await action(ask).catch(async (error) => {
        // Fails only if the connection is broken. Then the server rolls back by itself.
        await ask('ROLLBACK').catch(() => {})
        throw error
      })
      await ask('COMMIT').catch((cause: Error) => {
        const unknown = 'It is not known whether the change was made: check before you repeat it'
        throw new StoreUnavailable(`${cause.message}. ${unknown}`, { cause })
      })
      return result
    })

  /** Makes changes in one transaction. Rejects with StoreUnavailable, even if another node just holds a lock for too long. */
  const transactWithLock = <Result>(lock: string, begin: () => Work<Result>) =>
    transaction(sql.begin, async (ask) => {
      await ask(sql.prepareTransaction, [`${lockTimeout}ms`])
      await ask(lock)
      return runWork(begin(), ask)
    })

  return {
    ask: ((statement, values) => enqueue((ask) => ask(statement, values))) as Ask,

    /** Reads permissions from a server that is certainly the primary: a stale read could accept a revoked credential. */
    askPrimary: <Row extends unknown[]>(statement: string, values?: unknown[]) =>
      enqueue(async (ask, session) => {
        await session.proveIfNeeded()
        const rows = await ask<Row>(statement, values)
        session.assertPrimary()
        return rows
      }),

    /**
     * Sends a statement that no request waits for. The server ends it after a second, whether it is waiting or working: requests
     * queue behind it, and the session must survive. Its change may be lost in a crash.
     */
    askInBackground: ((statement, values) =>
      transaction(sql.beginInBackground, (ask) => ask(statement, values))) as Ask,

    /** Changes the registry or operators in one transaction, one node at a time. */
    transact: <Result>(begin: () => Work<Result>) => transactWithLock(sql.lockRegistry, begin),
    /** Changes refusals and usage, one node at a time: two could deadlock on each other's rows. */
    transactInBackground: <Result>(begin: () => Work<Result>) => transactWithLock(sql.lockRefusals, begin),
    // A removal locks in a different order, so waiting for it could deadlock.
    lockOwners: 'FOR KEY SHARE SKIP LOCKED',
  }
}

export async function runWork<Result>(work: Work<Result>, ask: Ask): Promise<Result> {
  let step = work.next()
  while (!step.done) step = work.next(await ask(step.value.sql, [...step.value.values]))
  return step.value
}
