import { availableParallelism } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Command } from 'commander'
import type { Administration } from '../administration/administration.ts'
import { planOf } from '../administration/apply-plan.ts'
import type { SeedStep } from '../administration/seed.ts'
import { OperatorError } from '../domain/operator-error.ts'
import { createSeedOutput, printPlan, sayDuration, warnOfPlan } from './seed-output.ts'
import { administer, type CreateOption, createOption, isDefaultPlace } from './shared/administer.ts'
import {
  addCommand,
  createProgress,
  type JsonOption,
  OutputFailed,
  readInput,
  say,
  type Terminal,
} from './shared/terminal.ts'

/** The shortest pause between two steps, in which a running server can write. */
const PAUSE_MS = 5

const LOST = 'Entries that could not be printed are not registered.'
const AGAIN = ' Run seed again to register the rest.'

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

type SeedOptions = JsonOption & CreateOption & { dryRun?: boolean }

export function addSeed(program: Command, terminal: Terminal): void {
  const description = 'register the new suites and applications in a file, and print their credentials once'
  addCommand(program, 'seed', description)
    .argument('<file>', 'the YAML or JSON file, or - for standard input')
    .option('--dry-run', 'only print what would be done')
    .addOption(createOption())
    .action(async (file: string, options: SeedOptions) => {
      // Node.js's thread pool hashes imported secrets. Its size can be set only before its first use; the default is 4.
      process.env.UV_THREADPOOL_SIZE ??= String(Math.max(4, availableParallelism()))
      const { parseSeedFile } = await import('../administration/apply-file.ts')
      const wanted = parseSeedFile(file, await readInput(terminal, file))
      const { dryRun = false, create = isDefaultPlace(terminal) } = options
      const action = async ({ seed }: Administration) => {
        const plan = await seed.plan(wanted)
        warnOfPlan(terminal, options, plan)
        if (dryRun) return printPlan(terminal, options, plan)
        sayDuration(terminal, options, plan)
        const progress = { done: 0, total: plan.added.length }
        const output = createSeedOutput(terminal, options, plan)
        await carryOut(terminal, options, { steps: seed.steps(plan.added), output, progress, lost: LOST, again: AGAIN })
      }
      const onMissing = (place: string) => {
        planOf(wanted, { suite: [], application: [] }, { isSeed: true })
        const now = dryRun ? 'without --dry-run, this creates it.' : 'this creates it.'
        const later = create ? '' : ' From 2.0.0 on, that needs --create.'
        if (dryRun || later) say(terminal, options, 'warning', `There is no database at ${place}: ${now}${later}`)
      }
      await administer(terminal, action, { create: true, dryRun, onMissing })
    })
}

interface Run {
  steps: AsyncIterable<SeedStep>
  output: ReturnType<typeof createSeedOutput>
  /** Counts what was done, for messages. */
  progress: { done: number; total: number }
  /** A sentence about entries that could not be printed. */
  lost: string
  /** A space, and a sentence about how to do the rest, unless the caller says that. */
  again?: string
}

/**
 * Prints the credentials of each step before it registers them: however a run ends, the credentials of every registered entry
 * were shown. A signal ends it after a step. A warning or error names credentials that were shown but may not be registered.
 */
export async function carryOut(
  terminal: Terminal,
  options: JsonOption,
  { steps, output, progress, lost, again = '' }: Run,
): Promise<void> {
  const report = createProgress(terminal, options)
  const stopped = new AbortController()
  const stop = (signal: string) => stopped.abort(signal)
  for (const signal of SIGNALS) process.once(signal, stop)
  /** The number of entries that were shown but may not be registered. */
  let unregistered = 0
  try {
    for await (const step of steps) {
      await output.show(step)
      unregistered = step.suites.length + step.applications.length
      const begunAt = performance.now()
      const refused = await step.register()
      unregistered = 0
      output.count(step, refused.length)
      progress.done += step.suites.length + step.applications.length - refused.length
      report(`${progress.done.toLocaleString('en')} of ${progress.total.toLocaleString('en')}`)
      if (refused.length > 0) {
        const reason = 'These were changed by others since the plan, so the credentials printed for them are not valid'
        throw new OperatorError(`${reason}: ${refused.join(', ')}.${again}`)
      }
      // On a slow machine a server needs more time to get its turn, too.
      await sleep(Math.max(PAUSE_MS, (performance.now() - begunAt) / 2))
      if (stopped.signal.aborted) break
    }
  } catch (error) {
    if (error instanceof OutputFailed) throw new OperatorError(`${error.message} ${lost}${again}`, { cause: error })
    if (unregistered > 0) {
      say(terminal, options, 'warning', `The last ${unregistered} credentials printed may not be valid.${again}`)
    }
    await output.end()
    throw error
  } finally {
    for (const signal of SIGNALS) process.off(signal, stop)
  }
  await output.end()
  if (stopped.signal.aborted) throw new OperatorError(`Stopped by ${stopped.signal.reason}.${again}`)
}
