import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describeMachine, thisMachine } from '../bench/report/results.ts'
import { print, runToEnd, UsageError } from '../trial/command-line.ts'
import { createRandom } from '../trial/random.ts'
import type { Cleanup } from '../trial/trial.ts'
import { missingPackages } from './cluster/programs.ts'
import { HELP, type Options, parseOptions } from './options.ts'
import { isBroken, reportText } from './report.ts'
import { runRounds } from './rounds.ts'
import { tryVisibility } from './visibility.ts'
import type { World } from './world.ts'

const cleanup: Cleanup = new Set()

async function main(): Promise<void> {
  const options = parseOptions(process.argv.slice(2))
  if (!options) return print(HELP)
  if (process.platform !== 'linux') throw new UsageError('This runs on Linux only.')
  if (options.rounds.length > 0) requirePackages(options)

  const world = openWorld(options)
  const { seed, ttl, withProxy, keep } = options
  print(`${describeMachine(thisMachine())}\n--seed ${seed} --ttl ${ttl}${withProxy ? ' --haproxy' : ''}`)
  if (keep) print(`files in ${world.folder}`)
  if (options.tries > 0) await reportVisibility(world, options.tries)
  if (options.rounds.length > 0) await reportRounds(world, options)
}

function requirePackages(options: Options): void {
  const missing = missingPackages(options)
  if (missing.length === 0) return
  throw new UsageError(`This needs packages: apt-get install --no-install-recommends ${missing.join(' ')}`)
}

function openWorld({ seed, keep }: Options): World {
  const folder = mkdtempSync(join(tmpdir(), 'token-server-failover-'))
  // If this process is root, PostgreSQL runs as another user.
  chmodSync(folder, 0o711)
  if (!keep) cleanup.add(() => rmSync(folder, { recursive: true, force: true }))
  const startedAt = performance.now()
  return {
    folder,
    program: join(import.meta.dirname, '../..'),
    cleanup,
    random: createRandom(String(seed)),
    step: (text) => {
      const seconds = Math.round((performance.now() - startedAt) / 1000)
      process.stderr.write(`${String(seconds).padStart(4)} s  ${text}\n`)
    },
  }
}

async function reportVisibility(world: World, tries: number): Promise<void> {
  const { accepted, ...found } = await tryVisibility(world, tries)
  print(`\nvisibility: ${found.tries} revocations, each checked on another node at once: ${accepted} accepted`)
  if (accepted > 0) process.exitCode = 1
}

async function reportRounds(world: World, options: Options): Promise<void> {
  const { rounds, audited, lostAtEnd, failure } = await runRounds(world, options)
  const isLost = lostAtEnd.tokens + lostAtEnd.revocations > 0
  const broken = rounds.filter(isBroken).length
  print(`\n${reportText(rounds)}\n`)
  if (failure) throw failure
  print(`At the end, of ${audited} tokens: ${lostAtEnd.tokens} lost, ${lostAtEnd.revocations} revocations lost.`)
  print(broken === 0 && !isLost ? 'Nothing was lost.' : `BROKEN: ${broken} of ${rounds.length} rounds.`)
  if (broken > 0 || isLost) process.exitCode = 1
}

await runToEnd(main, cleanup)
