import type { Load } from './load/client.ts'
import type { Group, GroupFigures } from './load/protocol.ts'
import type { Server } from './process.ts'

/** A server under one kind of load. */
export interface Contender {
  name: string
  server: Server
  groups: [Group, ...Group[]]
  /** The contender that it is compared with; that has the same groups. */
  base?: string
  /** Called before and after each of its turns, outside what is measured. */
  before?: () => void
  after?: () => Promise<void> | void
}

/** What was measured of a contender, or of one of its groups of connections: the medians of its rounds. */
export interface Row {
  name: string
  requestsPerSecond: number
  /** To the row `base`: the median of the rounds' ratios, for what slows the machine slows both of a round. */
  ratio: number | null
  base: string | null
  /** Of the server, a request. Null: several groups ask at once. */
  cpuMicroseconds: number | null
  /** Milliseconds; of the longest latencies, the longest. */
  p50: number
  p99: number
  p999: number
  max: number
  /** Answers that were not expected and connections that broke, in all rounds and the warm-up. */
  errors: number
  /** MiB. */
  memoryPeak: number
  memoryEnd: number
  /** Shares of one core. */
  serverShare: number
  loadShare: number
}

export interface Times {
  rounds: number
  /** Of a round and of the warm-up. */
  seconds: number
  warmUp: number
}

interface Turn {
  groups: GroupFigures[]
  cpuMicroseconds: number
  serverShare: number
  loadShare: number
  memory: { now: number; peak: number }
}

/** Measures contenders in turns, A B C A B C …, and returns a row for each of their groups. */
export async function measure(load: Load, times: Times, contenders: Contender[]): Promise<Row[]> {
  const turns = new Map<string, Turn[]>(contenders.map(({ name }) => [name, []]))
  const errors = new Map<string, number>()
  for (let round = 0; round <= times.rounds; round++) {
    for (const contender of contenders) {
      contender.before?.()
      const turn = await takeTurn(load, contender, round === 0 ? times.warmUp : times.seconds)
      await contender.after?.()
      if (round > 0) turns.get(contender.name)?.push(turn)
      for (const group of turn.groups) {
        const key = rowName(contender, group)
        errors.set(key, (errors.get(key) ?? 0) + group.unexpected + group.broken)
      }
    }
  }
  return contenders.flatMap((contender) =>
    contender.groups.map((group, index) => {
      const base = contenders.find(({ name }) => name === contender.base)
      const name = rowName(contender, group)
      return {
        name,
        ...medians(turns.get(contender.name) as Turn[], index),
        ...(base
          ? { base: rowName(base, group), ratio: ratio(turns, contender, base, index) }
          : { base: null, ratio: null }),
        errors: errors.get(name) as number,
      }
    }),
  )
}

async function takeTurn(load: Load, { server, groups }: Contender, seconds: number): Promise<Turn> {
  const startedAt = performance.now()
  const before = server.cpuTime()
  const { groups: figures, cpuShare } = await load.run({ port: server.port, seconds, groups })
  const cpu = server.cpuTime() - before
  const answered = figures.reduce((sum, group) => sum + group.answered, 0)
  return {
    groups: figures,
    cpuMicroseconds: cpu / answered,
    serverShare: cpu / 1000 / (performance.now() - startedAt),
    loadShare: cpuShare,
    memory: server.memory(),
  }
}

function medians(turns: Turn[], index: number) {
  const groups = turns.map((turn) => turn.groups[index] as GroupFigures)
  const last = turns.at(-1) as Turn
  return {
    requestsPerSecond: median(groups.map(({ requestsPerSecond }) => requestsPerSecond)),
    cpuMicroseconds: last.groups.length > 1 ? null : median(turns.map(({ cpuMicroseconds }) => cpuMicroseconds)),
    p50: median(groups.map(({ p50 }) => p50)),
    p99: median(groups.map(({ p99 }) => p99)),
    p999: median(groups.map(({ p999 }) => p999)),
    max: Math.max(...groups.map(({ max }) => max)),
    memoryPeak: last.memory.peak,
    memoryEnd: last.memory.now,
    serverShare: median(turns.map(({ serverShare }) => serverShare)),
    loadShare: median(turns.map(({ loadShare }) => loadShare)),
  }
}

function ratio(turns: Map<string, Turn[]>, contender: Contender, base: Contender, index: number): number {
  const speeds = ({ name }: Contender) =>
    (turns.get(name) as Turn[]).map(({ groups }) => (groups[index] as GroupFigures).requestsPerSecond)
  const bases = speeds(base)
  return median(speeds(contender).map((speed, round) => speed / (bases[round] as number)))
}

function rowName({ name, groups }: Contender, group: { name: string }): string {
  return groups.length > 1 ? `${name}, ${group.name}` : name
}

export function median(numbers: number[]): number {
  const sorted = numbers.toSorted((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  const upper = sorted[middle] as number
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] as number)) / 2
}
