import { fork } from 'node:child_process'
import { once } from 'node:events'
import { accessSync, constants, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Random } from '../random.ts'
import type { World } from '../trial.ts'
import type { FromChecker, ToChecker } from './checker.ts'
import type { Expectation } from './expectation.ts'
import { SURVIVALS, type Survival } from './file.ts'
import type { Entry } from './log.ts'
import { createModel } from './model.ts'

/** What was lost in the power cuts of a log. */
export interface Outcome {
  cuts: number
  /** Cuts after which something was lost, and after which the database was corrupt. */
  losing: number
  corrupt: number
  lost: number
  resurrected: number
  applicationsLost: number
}

/** The places to cut a log: anywhere, where a sync ends, or while the database file itself is written. */
function placesOf(log: Entry[], from: number, database: string): number[][] {
  const model = createModel()
  const [anywhere, atSyncs, inCheckpoints]: [number[], number[], number[]] = [[], [], []]
  for (const [at, entry] of log.entries()) {
    if (at >= from) {
      anywhere.push(at)
      if (entry.type === 'sync end') atSyncs.push(at, at + 1)
      if (model.hasPending(database)) inCheckpoints.push(at)
    }
    model.apply(entry, at)
  }
  return [anywhere, atSyncs, inCheckpoints].filter((places) => places.length > 0)
}

/**
 * Cuts the power at `count` places of a log after the entry `from`, and lets the program open what is left each time.
 * `expectedAt` returns what must be there at a time.
 */
export async function tryCuts(
  world: World,
  {
    log,
    from,
    count,
    expectedAt,
  }: { log: Entry[]; from: number; count: number; expectedAt: (time: bigint) => Expectation },
): Promise<Outcome> {
  const { random } = world
  const checker = startChecker(world)
  const outcome: Outcome = { cuts: 0, losing: 0, corrupt: 0, lost: 0, resurrected: 0, applicationsLost: 0 }
  const places = placesOf(log, from, 'tokens.db')
  const cuts = Array.from({ length: count }, () => random.pick(random.pick(places))).sort((a, b) => a - b)
  const model = createModel()
  let at = 0
  for (const cut of cuts) {
    for (; at < cut; at++) model.apply(log[at] as Entry, at)
    const time = log[cut]?.time ?? process.hrtime.bigint()
    const found = await checker.check(model.cut(survivals(random), random), expectedAt(time), random)
    outcome.cuts++
    outcome.lost += found.lost
    outcome.resurrected += found.resurrected
    outcome.applicationsLost += found.applicationsLost
    if (found.corrupt) outcome.corrupt++
    if (found.lost + found.resurrected + found.applicationsLost > 0) outcome.losing++
    if (found.corrupt) world.step(`cut at entry ${cut}: ${found.corrupt}`)
  }
  checker.stop()
  return outcome
}

/** In half of the cuts the same for all files, in the others one for each file. */
function survivals(random: Random): () => Survival {
  const same = random.pick(SURVIVALS)
  return random.chance(0.5) ? () => same : () => random.pick(SURVIVALS)
}

function startChecker({ program, cleanup }: World) {
  const child = fork(join(import.meta.dirname, 'checker.ts'), [program], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  const root = mkdtempSync(join(inMemory(), 'token-server-cut-'))
  const undo = () => {
    child.kill('SIGKILL')
    rmSync(root, { recursive: true, force: true })
  }
  cleanup.add(undo)
  let checks = 0

  return {
    /** Writes the files into a new folder and lets the program open them. */
    async check(files: { name: string; bytes: Buffer; mode: number }[], expected: Expectation, random: Random) {
      const folder = join(root, String(checks++))
      mkdirSync(folder)
      for (const { name, bytes, mode } of files) writeFileSync(join(folder, name), bytes, { mode })
      const file = join(folder, 'tokens.db')
      // It is mapped memory: after a cut it is missing, or has any content.
      if (random.chance(0.5)) writeFileSync(`${file}-shm`, random.bytes(32 * 1024), { mode: 0o600 })
      child.send({ file, expected } satisfies ToChecker)
      const [found] = (await once(child, 'message')) as [FromChecker]
      rmSync(folder, { recursive: true })
      return found
    },
    stop(): void {
      undo()
      cleanup.delete(undo)
    },
  }
}

/** A folder in memory if there is one: what is left is opened hundreds of times. */
function inMemory(): string {
  try {
    accessSync('/dev/shm', constants.W_OK)
    return '/dev/shm'
  } catch {
    return '/tmp'
  }
}
