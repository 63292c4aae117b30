import { StoreUnavailable } from '../../domain/store.ts'
import type { Work } from '../shared/work.ts'
import type { Ask } from './connection.ts'
import type { Primary } from './primary.ts'
import type { Session } from './session.ts'
import * as sql from './statements/session.ts'

export type Commands = ReturnType<typeof createCommands>

/** How long a statement may take besides waiting for a lock. Generous: where it takes longer the whole session is ended. */
const WORK_MS = 8000

interface CommandsOptions {
  primary: Primary
  /** How long a change waits for another node's. Milliseconds. */
  lockTimeout: number
}

/**
 * Everything that no check waits for, one after the other on a connection of its own. Of requests for a token only the first
 * one of an application in an hour waits for it, where there is a quota.
 */
export function createCommands({ primary, lockTimeout }: CommandsOptions) {
  const enqueue = createQueue({ primary, lockTimeout })

  const ask: Ask = (statement, values) => enqueue((ask) => ask(statement, values))

  /** Makes changes in one transaction. Rejects with StoreUnavailable, also where others keep a lock for too long. */
  const inTransaction = <Result>(action: (ask: Ask) => Promise<Result>) =>
    enqueue(async (ask) => {
      await ask(sql.begin)
      const result = await rollBackOnError(ask, async () => {
        await ask(sql.setLockTimeout, [`${lockTimeout}ms`])
        return action(ask)
      })
      await ask(sql.commit).catch((cause: Error) => {
        throw new StoreUnavailable(
          `${cause.message}. It is not known whether the change was made: look before you repeat it`,
          { cause },
        )
      })
      return result
    })

  /**
   * Sends a statement that no request is for. The server gives it up within a second, whether it waits for a lock or works:
   * requests wait behind it, and the session is to outlive it. What it changes may be lost in a crash.
   */
  const askInBackground: Ask = <Row extends unknown[]>(statement: string, values?: unknown[]) =>
    enqueue(async (ask) => {
      await ask(sql.beginInBackground)
      const rows = await rollBackOnError(ask, () => ask<Row>(statement, values))
      await ask(sql.commit)
      return rows
    })

  return {
    ask,
    askInBackground,
    inTransaction,

    /** Reads from a proven primary, for permissions: a stale read could accept a revoked credential. */
    askPrimary: <Row extends unknown[]>(statement: string, values?: unknown[]) =>
      enqueue(async (ask, session) => {
        await session.proveIfNeeded()
        const rows = await ask<Row>(statement, values)
        session.assertPrimary()
        return rows
      }),

    /** Makes a change to the registry or to operators, in one transaction; those of all nodes are made one by one. */
    transact: <Result>(begin: () => Work<Result>) =>
      inTransaction(async (ask) => {
        await ask(sql.lockRegistry)
        return runWork(begin(), ask)
      }),

    /** The same for refusals. Only one node at a time writes them, so that none waits for rows of another in a circle. */
    transactInBackground: <Result>(begin: () => Work<Result>) =>
      inTransaction(async (ask) => {
        await ask(sql.lockRefusals)
        return runWork(begin(), ask)
      }),
  }
}

/** Returns a function that does one thing after the other, each with the session of its time. */
function createQueue({ primary, lockTimeout }: CommandsOptions) {
  // Longer than the server waits for a lock: its answer is that there was none, and the session is as good as before.
  const timeout = lockTimeout + WORK_MS
  let last: Promise<unknown> = Promise.resolve()

  function enqueue<Result>(action: (ask: Ask, session: Session) => Promise<Result>): Promise<Result> {
    const result = last.then(async () => {
      const session = await primary.session()
      return action((statement, values = []) => session.commands.ask(statement, values, timeout), session)
    })
    last = result.catch(() => {})
    return result
  }

  return enqueue
}

/** Does several statements one after the other. Rejects with what one of them rejects with. */
export async function runWork<Result>(work: Work<Result>, ask: Ask): Promise<Result> {
  let step = work.next()
  while (!step.done) step = work.next(await ask(step.value.sql, [...step.value.values]))
  return step.value
}

/** The number in the only row of an answer. */
export async function numberOf(answer: Promise<unknown[][]>): Promise<number> {
  const [row] = await answer
  return (row as [number])[0]
}

async function rollBackOnError<Result>(ask: Ask, action: () => Promise<Result>): Promise<Result> {
  try {
    return await action()
  } catch (error) {
    // Where the connection is broken the server does it by itself.
    await ask(sql.rollback).catch(() => {})
    throw error
  }
}
