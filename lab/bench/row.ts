import type { GroupFigures } from './load/protocol.ts'
import type { Memory } from './world/proc-stat.ts'
import type { Kind } from './world/server-process.ts'

/** The figures of a contender's group: medians of its rounds, unless they say otherwise. */
export interface Row {
  name: string
  kind: Kind
  requestsPerSecond: number
  /** Its requests per second relative to the row `base`, and its CPU time per request. */
  ratio: number | null
  cpuRatio: number | null
  base: string | null
  /** Relative to the other version of this server, if there is one. */
  toOther: { requestsPerSecond: Ratio | null; cpuMicroseconds: Ratio | null } | null
  /** CPU time of the server per request. Null if several groups share it. */
  cpuMicroseconds: number | null
  /** CPU time of its database's server per request, if it has one. */
  databaseMicroseconds: number | null
  /** Milliseconds. `max` is the longest of all rounds. */
  p50: number
  p99: number
  p999: number
  max: number
  /** Unexpected answers and broken connections, of all rounds and the warm-up. */
  errors: number
  /** MiB, after the last round. */
  memoryPeak: number
  memoryEnd: number
  /** The number of the server's processes. */
  processes: number
  /** Shares of one core. */
  serverShare: number
  loadShare: number
  /** The rounds in order, for ratios between rows. */
  rounds: Round[]
}

/** One row relative to another, round by round. */
export interface Ratio {
  median: number
  least: number
  most: number
  lowerQuartile: number
}

type Round = Pick<Row, 'requestsPerSecond' | 'cpuMicroseconds' | 'databaseMicroseconds'>

/** What one turn of a contender measured. */
export interface Turn {
  groups: GroupFigures[]
  cpuMicroseconds: number
  databaseMicroseconds: number | null
  serverShare: number
  loadShare: number
  memory: Memory
}

/** The row of one of a contender's groups, without ratios. `index` is the group's place in the turns. */
export function rowOf(
  { name, kind, index }: { name: string; kind: Kind; index: number },
  { warmUp, turns }: { warmUp: Turn; turns: Turn[] },
): Row {
  const groups = turns.map((turn) => turn.groups[index] as GroupFigures)
  const all = [warmUp.groups[index] as GroupFigures, ...groups]
  const last = turns.at(-1) as Turn
  const rounds = turns.map(({ cpuMicroseconds, databaseMicroseconds }, round) => ({
    requestsPerSecond: (groups[round] as GroupFigures).requestsPerSecond,
    cpuMicroseconds: last.groups.length > 1 ? null : cpuMicroseconds,
    databaseMicroseconds: last.groups.length > 1 ? null : databaseMicroseconds,
  }))
  return {
    name,
    kind,
    requestsPerSecond: median(rounds.map(({ requestsPerSecond }) => requestsPerSecond)),
    ratio: null,
    cpuRatio: null,
    base: null,
    toOther: null,
    cpuMicroseconds: medianOrNull(rounds.map(({ cpuMicroseconds }) => cpuMicroseconds)),
    databaseMicroseconds: medianOrNull(rounds.map(({ databaseMicroseconds }) => databaseMicroseconds)),
    p50: median(groups.map(({ p50 }) => p50)),
    p99: median(groups.map(({ p99 }) => p99)),
    p999: median(groups.map(({ p999 }) => p999)),
    max: Math.max(...groups.map(({ max }) => max)),
    errors: all.reduce((sum, { unexpected, broken }) => sum + unexpected + broken, 0),
    memoryPeak: last.memory.peak,
    memoryEnd: last.memory.now,
    processes: last.memory.processes,
    serverShare: median(turns.map(({ serverShare }) => serverShare)),
    loadShare: median(turns.map(({ loadShare }) => loadShare)),
    rounds,
  }
}

/** One row's requests per second relative to another's. */
export function speedRatio(row: Row, base: Row): Ratio | null {
  return ratioOfRounds(row, base, ({ requestsPerSecond }) => requestsPerSecond)
}

/** One row's CPU time per request relative to another's. */
export function cpuRatio(row: Row, base: Row): Ratio | null {
  return ratioOfRounds(row, base, ({ cpuMicroseconds }) => cpuMicroseconds)
}

/** One row's CPU time per request, that of its database's server included, relative to another's. */
export function totalCpuRatio(row: Row, base: Row): Ratio | null {
  return ratioOfRounds(row, base, ({ cpuMicroseconds, databaseMicroseconds }) => {
    return cpuMicroseconds === null || databaseMicroseconds === null ? null : cpuMicroseconds + databaseMicroseconds
  })
}

/** Round by round: whatever slows the machine down slows both rows of a round down. Null if a round lacks the figure. */
function ratioOfRounds(row: Row, base: Row, figure: (round: Round) => number | null): Ratio | null {
  const ratios = row.rounds.map((round, at) => {
    const [one, other] = [figure(round), figure(base.rounds[at] as Round)]
    return one === null || other === null ? null : one / other
  })
  return ratios.every((ratio) => ratio !== null) ? ratioOf(ratios) : null
}

function ratioOf(ratios: number[]): Ratio {
  const sorted = ratios.toSorted((a, b) => a - b)
  const lowerQuartile = sorted[Math.floor((sorted.length - 1) / 4)] as number
  return { median: median(sorted), least: sorted[0] as number, most: sorted.at(-1) as number, lowerQuartile }
}

/** Null if any of them is. */
function medianOrNull(numbers: (number | null)[]): number | null {
  return numbers.every((number) => number !== null) ? median(numbers) : null
}

export function median(numbers: number[]): number {
  const sorted = numbers.toSorted((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  const upper = sorted[middle] as number
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] as number)) / 2
}
