import { availableParallelism } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { Command } from 'commander'
import type { Administration } from '../administration/administration.ts'
import { parseSeedFile, type SeedPlan } from '../administration/seed-plan.ts'
import { OperatorError } from '../domain/operator-error.ts'
import { createSeedOutput, createSeedProgress, printPlan, warnOfPlan } from './seed-output.ts'
import { administer } from './shared/administer.ts'
import { type JsonOption, OutputFailed, readInput, type Terminal, withJson } from './shared/terminal.ts'

/** A server beside gets its turns between two steps. */
const PAUSE_MS = 5

const AGAIN = 'Run seed again for what is not registered yet.'
const NOT_SHOWN = 'Run seed again: those that are registered but not shown get new secrets.'

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/** `seed FILE`: registers the suites and applications of a file that are missing. */
export function seedCommand(terminal: Terminal): Command {
  return withJson(new Command('seed'))
    .description(
      'register the suites and applications of a JSON file that are missing, and print their credentials, once',
    )
    .argument('<file>', 'the file, - for standard input')
    .option('--dry-run', 'say what would be done, and change nothing')
    .action(async (file: string, options: JsonOption & { dryRun?: boolean }) => {
      // For the hashes of imported secrets. It holds if nothing has used the pool yet; 4 is what it has by default.
      process.env.UV_THREADPOOL_SIZE ??= String(Math.max(4, availableParallelism()))
      const seeds = parseSeedFile(file, await readInput(terminal, file))
      const action = async ({ seed }: Administration) => {
        const plan = await seed.plan(file, seeds)
        warnOfPlan(terminal, options, plan)
        if (options.dryRun) await printPlan(terminal, options, plan)
        else await carryOut(terminal, options, seed, plan)
      }
      await administer(terminal, action, { create: !options.dryRun })
    })
}

/** Registers step by step, and shows each step before the next one. A signal ends it after a step. */
async function carryOut(terminal: Terminal, options: JsonOption, seed: Administration['seed'], plan: SeedPlan) {
  const stopped = new AbortController()
  const stop = (signal: string) => stopped.abort(signal)
  for (const signal of SIGNALS) process.once(signal, stop)
  const output = createSeedOutput(terminal, options, plan)
  const tellProgress = createSeedProgress(terminal, options, plan)
  try {
    for await (const step of seed.register(plan, stopped.signal)) {
      await output.show(step)
      tellProgress(step)
      await sleep(PAUSE_MS)
    }
  } catch (error) {
    if (error instanceof OutputFailed) throw new OperatorError(`${error.message} ${NOT_SHOWN}`, { cause: error })
    await output.end()
    throw error
  } finally {
    for (const signal of SIGNALS) process.off(signal, stop)
  }
  await output.end()
  if (stopped.signal.aborted) throw new OperatorError(`Stopped by ${stopped.signal.reason}. ${AGAIN}`)
}
