import { availableParallelism } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { Command } from 'commander'
import type { Administration } from '../administration/administration.ts'
import { parseSeedFile, type SeedPlan } from '../administration/seed-plan.ts'
import { OperatorError } from '../domain/operator-error.ts'
import { createSeedOutput, createSeedProgress, printPlan, warnOfPlan } from './seed-output.ts'
import { administer } from './shared/administer.ts'
import { type JsonOption, OutputFailed, readInput, say, type Terminal, withJson } from './shared/terminal.ts'

/** A server beside gets its turns between two steps. */
const PAUSE_MS = 5

const AGAIN = 'Run seed again for what is not registered yet.'
const NOT_REGISTERED = 'What could not be printed is not registered.'

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

/**
 * Shows each step, and registers it when that is written: so whatever ends a run, everything that is registered was shown. A
 * signal ends it after a step. If something that was shown may not be registered, the error or a warning before it says so.
 */
async function carryOut(terminal: Terminal, options: JsonOption, seed: Administration['seed'], plan: SeedPlan) {
  const stopped = new AbortController()
  const stop = (signal: string) => stopped.abort(signal)
  for (const signal of SIGNALS) process.once(signal, stop)
  const output = createSeedOutput(terminal, options, plan)
  const tellProgress = createSeedProgress(terminal, options, plan)
  /** How many were shown and may not be registered. */
  let unregistered = 0
  try {
    for await (const step of seed.steps(plan)) {
      await output.show(step)
      unregistered = step.suites.length + step.applications.length
      const refused = await step.register()
      unregistered = 0
      output.count(step, refused.length)
      tellProgress(step)
      if (refused.length > 0) throw new OperatorError(refusedText(refused))
      await sleep(PAUSE_MS)
      if (stopped.signal.aborted) break
    }
  } catch (error) {
    if (error instanceof OutputFailed) {
      throw new OperatorError(`${error.message} ${NOT_REGISTERED} ${AGAIN}`, { cause: error })
    }
    if (unregistered > 0) {
      say(terminal, options, 'warning', `The credentials printed last (${unregistered}) may not be valid. ${AGAIN}`)
    }
    await output.end()
    throw error
  } finally {
    for (const signal of SIGNALS) process.off(signal, stop)
  }
  await output.end()
  if (stopped.signal.aborted) throw new OperatorError(`Stopped by ${stopped.signal.reason}. ${AGAIN}`)
}

function refusedText(ids: string[]): string {
  return `Others have changed these since the seed began, so the credentials printed for them are not valid: ${ids.join(', ')}. ${AGAIN}`
}
