import type { Test } from 'tap'
import { createAdministration } from '../../src/administration/administration.ts'
import type { Store } from '../../src/domain/store.ts'
import { openStore } from '../../src/store/open.ts'
import { AUTHOR } from './on.ts'
import { type Filling, filling } from './registration.ts'
import { run, runJson } from './spawn.ts'
import { migratedDatabase } from './temporary-database.ts'

type Options = Parameters<typeof run>[1]

/** What a command is to end with; `json`: what it prints with `--json`. */
interface Expected extends Partial<Omit<Awaited<ReturnType<typeof run>>, 'out' | 'err'>> {
  out?: string | RegExp
  err?: string | RegExp
  json?: unknown
  stdin?: string
  isTTY?: boolean
}

/** What a command that fails, or is used wrongly, is to end with. */
export const fails = (err: string | RegExp, stdin?: string) => ({ status: 1, err, ...(stdin && { stdin }) })
export const misused = (err: RegExp) => ({ status: 2, err })

/** Commands in one environment, each as one text with a space between its words. */
export function shell(env: NodeJS.ProcessEnv) {
  return {
    run: (command: string, options?: Options) => run(command.split(' '), { env, ...options }),
    json: (command: string, options?: Options) => runJson(command.split(' '), { env, ...options }),
  }
}

/** Commands on a database with what `fill` registers. */
export async function startShell(t: Test, fill: (administration: Filling, store: Store) => unknown = () => {}) {
  const database = migratedDatabase(t)
  const store = await openStore({ kind: 'sqlite', file: database.file }, { lockTimeout: 0 })
  await fill(filling(createAdministration({ store, now: Date.now, observe: () => {}, author: AUTHOR })), store)
  await store.close()
  return { ...database, ...shell(database.env) }
}

/**
 * Runs commands in their order. Each must end with its status, which is 0 if none is given, and print what is given (a regular
 * expression alone is `out`); by default one that succeeds says nothing on standard error, and one that fails nothing on
 * standard output.
 */
export async function expectAll(
  t: Test,
  { run }: Pick<ReturnType<typeof shell>, 'run'>,
  commands: [command: string, expected: Expected | RegExp][],
): Promise<void> {
  for (const [command, given] of commands) {
    const { stdin = '', isTTY, status = 0, json, ...expected } = given instanceof RegExp ? { out: given } : given
    const result = await run(json === undefined ? command : `${command} --json`, { stdin, ...(isTTY && { isTTY }) })
    const silent = status === 0 ? { err: /^$/ } : { out: /^$/ }
    const found = {
      ...result,
      events: counted(result.events),
      json: json === undefined ? json : counted(JSON.parse(result.out)),
    }
    const events = expected.events && { events: counted(expected.events) }
    t.match(found, { status, ...silent, ...expected, ...events, json: counted(json) }, command)
  }
}

/** An array with its length, which `match` does not compare. */
function counted(value: unknown): unknown {
  return Array.isArray(value) ? { ...value, length: value.length } : value
}
