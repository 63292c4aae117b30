import { StoreUnavailable } from '../../domain/store.ts'
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
  // Longer than the server waits for a lock: its answer is that there was none, and the session is as good as before.
  const timeout = lockTimeout + WORK_MS
  let last: Promise<unknown> = Promise.resolve()

  /** Waits for what was asked for before. */
  function enqueue<Result>(action: (ask: Ask, session: Session) => Promise<Result>): Promise<Result> {
    const result = last.then(async () => {
      const session = await primary.session()
      return action((statement, values = []) => session.commands.ask(statement, values, timeout), session)
    })
    last = result.catch(() => {})
    return result
  }

  const ask: Ask = (statement, values) => enqueue((ask) => ask(statement, values))

  /** Makes changes in one transaction. Rejects with StoreUnavailable, also where others keep a lock for too long. */
  const transact = <Result>(action: (ask: Ask) => Promise<Result>) =>
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
    transact,

    /** Reads from a proven primary, for permissions: a stale read could accept a revoked credential. */
    askPrimary: <Row extends unknown[]>(statement: string, values?: unknown[]) =>
      enqueue(async (ask, session) => {
        await session.proveIfNeeded()
        const rows = await ask<Row>(statement, values)
        session.assertPrimary()
        return rows
      }),

    /** Sends a statement of which the result is one number. */
    askNumber: (statement: string, values?: unknown[]) => numberOf(ask(statement, values)),

    /** The same, in the background. */
    askNumberInBackground: (statement: string, values?: unknown[]) => numberOf(askInBackground(statement, values)),

    /** Makes a change to the registry, in one transaction; those of all nodes are made one by one. */
    changeRegistry: <Result>(action: (ask: Ask) => Promise<Result>) =>
      transact(async (ask) => {
        await ask(sql.lockRegistry)
        return action(ask)
      }),
  }
}

async function numberOf(answer: Promise<unknown[][]>): Promise<number> {
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
