import { StoreUnavailable } from '../../domain/store.ts'
import type { Primary } from './primary.ts'
import * as sql from './statements.ts'

/** Sends a statement. Rejects with StoreUnavailable. */
type Ask = <Row extends unknown[]>(statement: string, values?: unknown[]) => Promise<Row[]>

export type Commands = ReturnType<typeof createCommands>

/** How long a statement may take. Generous: where it takes longer the whole session is ended. */
const TIMEOUT_MS = 10_000

interface CommandsOptions {
  primary: Primary
  /** How long a change waits for another node's. Milliseconds. */
  lockTimeout: number
}

/** Everything that no request for a token or a check waits for, one after the other on a connection of its own. */
export function createCommands({ primary, lockTimeout }: CommandsOptions) {
  let last: Promise<unknown> = Promise.resolve()

  /** Waits for what was asked for before. */
  function enqueue<Result>(action: (ask: Ask) => Promise<Result>): Promise<Result> {
    const result = last.then(async () => {
      const { commands } = await primary.session()
      return action((statement, values = []) => commands.ask(statement, values, TIMEOUT_MS))
    })
    last = result.catch(() => {})
    return result
  }

  const ask: Ask = (statement, values) => enqueue((ask) => ask(statement, values))

  return {
    ask,

    /** Sends a statement of which the result is one number. */
    async askNumber(statement: string, values?: unknown[]): Promise<number> {
      const [row] = await ask<[number]>(statement, values)
      return (row as [number])[0]
    },

    /** Makes a change to the registry, in one transaction; those of all nodes are made one by one. */
    changeRegistry: <Result>(action: (ask: Ask) => Promise<Result>) =>
      enqueue(async (ask) => {
        await ask(sql.begin)
        const result = await rollBackOnError(ask, async () => {
          await ask(sql.setLockTimeout, [`${lockTimeout}ms`])
          await ask(sql.lockRegistry)
          return action(ask)
        })
        await ask(sql.commit).catch((cause: Error) => {
          throw new StoreUnavailable(
            `${cause.message}. It is not known whether the change was made: look before you repeat it`,
            { cause },
          )
        })
        return result
      }),
  }
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
