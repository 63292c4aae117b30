import { appendFile, constants, fchmodSync, fstatSync, openSync } from 'node:fs'
import { devNull } from 'node:os'
import { resolve } from 'node:path'
import { type Command, CommanderError } from 'commander'
import { applyChange, databaseRegistry, type Registry } from '../administration/apply.ts'
import { planOf, planText, type Wanted } from '../administration/apply-plan.ts'
import type { SeedStep } from '../administration/seed.ts'
import { OperatorError } from '../domain/operator-error.ts'
import { readKey, serverRegistry } from './apply-server.ts'
import { carryOut } from './seed.ts'
import { createSeedOutput } from './seed-output.ts'
import { administer, type CreateOption, createOption } from './shared/administer.ts'
import type { Terminal } from './shared/terminal.ts'
import { addCommand, createProgress, type JsonOption, print, readInput, say, show } from './shared/terminal.ts'

const NONE = { suites: [], applications: [] }
const ROTATE = ', but for the first one: "secrets rotate" makes another secret for it'
const AGAIN = 'Run apply again to do the rest.'

type ApplyOptions = JsonOption &
  CreateOption &
  Partial<Record<'dryRun' | 'yes', boolean> & Record<'prune' | 'secretsTo' | 'server' | 'keyFile', string>>

export function addApply(program: Command, terminal: Terminal): void {
  addCommand(program, 'apply', 'make suites and applications what a YAML or JSON file says')
    .argument('<file>', 'the file, or - for standard input')
    .option('--dry-run', 'print what would change, and change nothing; the exit status is 2 if something would')
    .option('--yes', 'ask nothing')
    .option('--prune <label>', 'remove what has this label, such as managed-by=file, and is not in the file')
    .option('--secrets-to <file>', 'the file to which new credentials are added, or - for standard output')
    .option('--server <url>', 'change this server through its administration API, not the database')
    .option('--key-file <file>', 'a file with the admin key for --server (default: the variable TOKEN_SERVER_KEY)')
    .addOption(createOption())
    .action(async (file: string, options: ApplyOptions) => {
      const { server, keyFile, dryRun, create } = options
      const { parseApplyFile } = await import('../administration/apply-file.ts')
      const wanted = parseApplyFile(file, await readInput(terminal, file))
      const applyTo = (registry: Registry) => apply(terminal, options, registry, wanted)
      if (server !== undefined) return applyTo(serverRegistry(server, await readKey(terminal, keyFile)))
      const onMissing = (place: string) =>
        say(terminal, options, 'warning', `There is no database at ${place}: with --create, this makes it.`)
      await administer(terminal, (_, on) => applyTo(databaseRegistry(on)), dryRun ? { onMissing } : { create })
    })
}

/** Prints the plan and, unless it is a dry run, carries it out: first what is new. */
async function apply(terminal: Terminal, options: ApplyOptions, registry: Registry, wanted: Wanted): Promise<void> {
  const present = { suite: await registry.list('suite'), application: await registry.list('application') }
  const plan = planOf(wanted, present, options.prune)
  const { changes, add, change, remove, unchanged: existing } = plan
  await show(terminal, options, plan, planText(plan))
  if (changes.length === 0) return
  if (options.dryRun) throw new CommanderError(2, 'apply.wouldChange', 'Something would change.')
  const { json, secretsTo = terminal.stdout.isTTY ? '-' : undefined } = options
  if (add > 0 && (!secretsTo || (json && secretsTo === '-'))) {
    throw new OperatorError('Nothing was changed: name a file for the new credentials with --secrets-to.')
  }
  if (!options.yes) await confirm(terminal)
  const output = createSeedOutput(outputTo(terminal, (add > 0 && secretsTo) || devNull), options, { existing })
  const progress = createProgress(terminal, options)
  let done = 0
  const report = ({ suites, applications }: SeedStep, refused: number) => {
    done += (suites.length + applications.length || 1) - refused
    progress(`${done} of ${changes.length}`)
  }
  async function* steps(): AsyncGenerator<SeedStep> {
    yield* registry.register(changes.filter(({ before }) => !before))
    const others = changes.filter(({ before }) => before)
    for (const one of others) yield { ...NONE, register: () => applyChange(registry, one).then(() => []) }
  }
  const lost = `Entries that could not be written are not registered${options.server ? ROTATE : ''}.`
  await carryOut(terminal, options, { steps: steps(), output, report, lost, again: AGAIN }).catch((error) => {
    say(terminal, options, 'warning', `${done} of ${changes.length} changes were made. ${AGAIN}`)
    throw error
  })
  const place = add > 0 && secretsTo && secretsTo !== '-' ? `New credentials are in ${resolve(secretsTo)}.\n` : ''
  if (!json) await print(terminal, options, plan, `${place}Added: ${add}, changed: ${change}, removed: ${remove}.`)
}

/** Throws OperatorError unless `yes` is typed. */
async function confirm({ stdin, stderr }: Terminal): Promise<void> {
  if (!stdin.isTTY) throw new OperatorError('Nothing was changed: this is not a terminal, so it needs --yes.')
  stderr.write('Make these changes? Type yes: ')
  const typed = stdin[Symbol.asyncIterator]()
  const { value } = await typed.next()
  // Otherwise the terminal would keep the process alive.
  await typed.return?.()
  if (String(value).trim() !== 'yes') throw new OperatorError('Nothing was changed.')
}

/**
 * A terminal whose output is added to a file, which only its owner can read; `-`: the same. Throws OperatorError, also if the file is
 * another user's or has a second name: in a folder that others may write to, they would choose where the secrets go.
 */
function outputTo(terminal: Terminal, place: string): Terminal {
  if (place === '-') return terminal
  try {
    const { O_WRONLY, O_APPEND, O_CREAT, O_NOFOLLOW } = constants
    // Open until the process ends.
    const file = openSync(place, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW, 0o600)
    const stats = fstatSync(file)
    const flush = stats.isFile()
    if (flush && (stats.uid !== process.geteuid?.() || stats.nlink > 1)) {
      throw new Error(`${place} belongs to another user, or has another name (a hard link)`)
    }
    if (flush) fchmodSync(file, 0o600)
    const write: Terminal['stdout']['write'] = (data, done) =>
      appendFile(file, data, { flush }, (error) => done?.(error))
    return { ...terminal, stdout: { write } }
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    const why = code === 'ELOOP' ? `${place} is a symbolic link` : message
    throw new OperatorError(`Nothing was changed: ${why}.`, { cause: error })
  }
}
