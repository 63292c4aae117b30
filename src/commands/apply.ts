import { devNull } from 'node:os'
import { resolve } from 'node:path'
import { type Command, CommanderError } from 'commander'
import { applyChange, databaseRegistry, type Registry } from '../administration/apply.ts'
import { type PlannedChange, planOf, planText, type Wanted } from '../administration/apply-plan.ts'
import type { SeedStep } from '../administration/seed.ts'
import { chunksOf } from '../domain/in-steps.ts'
import { OperatorError } from '../domain/operator-error.ts'
import { programFile, readText } from '../program-files.ts'
import { addServerOptions, type ServerOptions, serverOf } from './apply-server.ts'
import { journalBeside, outputTo } from './secrets-file.ts'
import { carryOut } from './seed.ts'
import { createSeedOutput } from './seed-output.ts'
import { administer, type CreateOption, createOption } from './shared/administer.ts'
import { addCommand, type JsonOption, print, prompt, readInput, say, show, type Terminal } from './shared/terminal.ts'

const NONE = { suites: [], applications: [] }
const LOST = 'Entries that could not be written are not registered'
const ROTATE = ', except for the first one: "secrets rotate" makes another secret for it'
const NEXT = ', except for the first one, whose secret the next run writes'
const AGAIN = 'Run apply again to do the rest.'

/** How many changes are made at once: a disk, or a server, needs hardly more time for several than for one. */
const AT_ONCE = 20

type ApplyOptions = JsonOption &
  CreateOption &
  ServerOptions &
  Partial<Record<'dryRun' | 'yes', boolean> & Record<'prune' | 'secretsTo', string>>

export function addApply(program: Command, terminal: Terminal): void {
  const command = addCommand(program, 'apply', 'make suites and applications match a YAML or JSON file')
  command
    .argument('<file>', 'the file, or - for standard input')
    .option('--dry-run', 'only print what would change; the exit status is 2 if anything would')
    .option('--yes', 'ask nothing')
    .option('--prune <label>', 'remove what has this label, such as managed-by=file, but is not in the file')
    .option('--secrets-to <file>', 'the file to append new credentials to, or - for standard output')
    .option('--schema', 'only print the JSON Schema of the file, for editors and validators')
    // Before the arguments are checked: it needs no file.
    .on('option:schema', () => {
      terminal.stdout.write(readText(programFile('../docs/apply.schema.json')))
      throw new CommanderError(0, 'apply.schema', 'The schema is printed.')
    })
  addServerOptions(command, 'change')
    .addOption(createOption())
    .action(async (file: string, options: ApplyOptions) => {
      const { server, dryRun, create, secretsTo } = options
      const { parseApplyFile } = await import('../administration/apply-file.ts')
      const wanted = parseApplyFile(file, await readInput(terminal, file))
      const applyTo = (registry: Registry, but = '') => apply(terminal, options, registry, wanted, `${LOST}${but}.`)
      const journal = server === undefined || secretsTo === undefined ? undefined : journalBeside(secretsTo)
      const registry = await serverOf(terminal, options, { journal })
      if (registry) return applyTo(registry, journal ? NEXT : ROTATE)
      const onMissing = (place: string) => {
        planOf(wanted, { suite: [], application: [] }, options)
        if (dryRun) say(terminal, options, 'warning', `There is no database at ${place}: --create creates it.`)
      }
      await administer(terminal, (_, on) => applyTo(databaseRegistry(on)), { create, dryRun, onMissing })
    })
}

/** Prints the plan and, unless it is a dry run, carries it out, starting with what is new. */
async function apply(
  terminal: Terminal,
  options: ApplyOptions,
  registry: Registry,
  wanted: Wanted,
  lost: string,
): Promise<void> {
  const present = { suite: await registry.list('suite'), application: await registry.list('application') }
  const plan = planOf(wanted, present, options)
  const { changes, add, change, remove, unchanged: existing } = plan
  await show(terminal, options, plan, planText(plan))
  if (changes.length === 0) return
  if (options.dryRun) throw new CommanderError(2, 'apply.wouldChange', 'Something would change.')
  const { json, secretsTo: asked = terminal.stdout.isTTY ? '-' : undefined } = options
  const secretsTo = changes.some(getsSecret) ? asked : devNull
  if (!secretsTo || (json && secretsTo === '-')) {
    throw new OperatorError('Nothing was changed: name a file for the new credentials with --secrets-to.')
  }
  if (!options.yes) await confirm(terminal)
  const output = createSeedOutput(outputTo(terminal, secretsTo), options, { existing })
  const progress = { done: 0, total: changes.length }
  async function* steps(): AsyncGenerator<SeedStep> {
    yield* registry.register(changes.filter(({ before }) => !before))
    const others = changes.filter(({ before }) => before)
    // One kind at a time: removing a suite changes applications.
    for (const alike of Map.groupBy(others, ({ action, kind }) => `${action} ${kind}`).values()) {
      for (const step of chunksOf(alike, AT_ONCE)) yield { ...NONE, register: () => changeAll(step) }
    }
  }
  async function changeAll(step: PlannedChange[]): Promise<string[]> {
    const changing = step.map((one) => applyChange(registry, one, wanted.managed_by).then(() => progress.done++))
    for (const ended of await Promise.allSettled(changing)) if (ended.status === 'rejected') throw ended.reason
    return []
  }
  await carryOut(terminal, options, { steps: steps(), output, progress, lost }).catch((error) => {
    say(terminal, options, 'warning', `${progress.done} of ${progress.total} changes were made. ${AGAIN}`)
    throw error
  })
  const place = ![devNull, '-'].includes(secretsTo) ? `New credentials are in ${resolve(secretsTo)}.\n` : ''
  if (!json) await print(terminal, options, plan, `${place}Added: ${add}, changed: ${change}, removed: ${remove}.`)
}

/** Whether it makes a secret: a new application with federated credentials gets none. */
function getsSecret({ action, after }: PlannedChange): boolean {
  return action === 'add' && !(after as { federated?: readonly unknown[] }).federated?.length
}

async function confirm(terminal: Terminal): Promise<void> {
  if (!terminal.stdin.isTTY) throw new OperatorError('Nothing was changed: this is not a terminal, so it needs --yes.')
  if ((await prompt(terminal, 'Make these changes? Type yes: ')) !== 'yes')
    throw new OperatorError('Nothing was changed.')
}
