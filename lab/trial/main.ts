import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describeMachine, thisMachine } from '../bench/report/results.ts'
import { table } from '../bench/report/table.ts'
import { print, runToEnd, UsageError } from './command-line.ts'
import { HELP, type Options, parseOptions } from './options.ts'
import { attempt, type Cleanup, type Finding, openWorld, type Trial } from './trial.ts'
import { speakTls } from './world/dial.ts'

type Line = Finding & { trial: string }

const cleanup: Cleanup = new Set()

async function main(): Promise<void> {
  const options = parseOptions(process.argv.slice(2))
  if (!options) return print(HELP)
  if (process.platform !== 'linux') throw new UsageError('The trials read /proc, so they run on Linux only.')

  const root = temporaryFolder(options)
  print(
    `${describeMachine(thisMachine())}\n--seed ${options.seed}${options.tls ? ' --tls' : ''}${options.keep ? `, files in ${root}` : ''}\n`,
  )
  if (options.tls) speakTls(root)
  const lines: Line[] = []
  for (const trial of options.trials) lines.push(...(await run(trial, options, root)))
  report(lines, options)
}

/** Runs one trial. An error that it throws is a finding too. */
async function run(trial: Trial, options: Options, root: string): Promise<Line[]> {
  const world = openWorld(trial.name, options, { root, cleanup })
  await attempt(world, trial.title, () => trial.run(world))
  return world.findings.map((finding) => ({ trial: trial.name, ...finding }))
}

function report(lines: Line[], { seed }: Options): void {
  const rows = lines.map(({ trial, done, found, verdict }) => [`${trial}: ${done}`, found, verdict])
  print(`\n${table([['what was done', 'what was found', ''], ...rows])}\n`)
  const broken = lines.filter(({ verdict }) => verdict === 'BROKEN').length
  print(broken === 0 ? 'Nothing was broken.' : `${broken} BROKEN. To repeat the choices: --seed ${seed}`)
  if (broken > 0) process.exitCode = 1
}

function temporaryFolder({ keep }: Options): string {
  const folder = mkdtempSync(join(tmpdir(), 'token-server-trial-'))
  if (!keep) cleanup.add(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

await runToEnd(main, cleanup)
