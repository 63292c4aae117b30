import type { Load } from './load/client.ts'
import type { Group } from './load/protocol.ts'
import { cpuRatio, type Row, rowOf, speedRatio, type Turn } from './row.ts'
import type { Database } from './world/postgres.ts'
import type { Server } from './world/server-process.ts'

/** What a contender is: a server, or several that share the connections. */
export type Measured = Pick<Server, 'kind' | 'ports' | 'cpuTime' | 'memory'>

/** A server under one kind of load: one or several groups of connections at the same time. */
export interface Contender<Key extends string = string, Part extends string = string> {
  name: string
  server: Measured
  /** The server of its database, if that is a process of its own. */
  database?: Database | undefined
  /** The groups by the words that are added to the row's name; without words if there is only one. */
  groups: Record<Part, Group>
  /** Background load at the same time. Comes after the groups in a turn, and gets no row. */
  background?: Group[] | undefined
  /** The contender that it is compared with. That one has the same groups. */
  base?: NoInfer<Key> | undefined
  /** Another version of the server, under the same load, in the same rounds. */
  other?: Omit<Contender<Key, Part>, 'name' | 'base' | 'other'> | undefined
  /** Called before and after each of its turns, outside of what is measured. */
  before?: () => Promise<void> | void
  after?: (turn: Turn) => Promise<void> | void
}

export interface Times {
  rounds: number
  /** The length of a round, and of the warm-up. */
  seconds: number
  warmUp: number
}

/** Rows by the keys of their contenders, followed by the words of the group if there are several. */
export type Rows<Key extends string, Part extends string> = Record<Part extends '' ? Key : `${Key} ${Part}`, Row>

/**
 * Measures contenders in turns, A B C A B C …, and returns a row for each of their groups. The rows of other versions are
 * among them, under keys of their own.
 */
export async function measure<Key extends string, Part extends string>(
  load: Load,
  times: Times,
  contenders: Record<Key, Contender<Key, Part>>,
): Promise<Rows<Key, Part>> {
  const lanes = lanesOf(contenders)
  for (let round = 0; round <= times.rounds; round++) {
    for (const lane of inTurns(lanes, round)) {
      await lane.contender.before?.()
      const turn = await takeTurn(load, lane.contender, round === 0 ? times.warmUp : times.seconds)
      await lane.contender.after?.(turn)
      if (round === 0) lane.warmUp = turn
      else lane.turns.push(turn)
    }
  }
  const rows = Object.fromEntries(lanes.flatMap((lane) => rowsOf(lane)))
  for (const lane of lanes) compare(lane, rows)
  return rows as Rows<Key, Part>
}

/** A contender in the order of a round, and what its turns measured. */
interface Lane {
  key: string
  /** The key of the lane that it is compared with, and that of the other version of the same server. */
  base?: string | undefined
  other?: string | undefined
  contender: Contender
  warmUp?: Turn
  turns: Turn[]
}

const OTHER = ' other'

/** Another version has its own lane after the product's. Its base is the other version of the base, if there is one. */
function lanesOf(contenders: Record<string, Contender>): Lane[] {
  return Object.entries(contenders).flatMap(([key, contender]) => {
    const { base, other, name } = contender
    if (!other) return [{ key, base, contender, turns: [] }]
    const otherBase = base && contenders[base]?.other ? base + OTHER : base
    return [
      { key, base, other: key + OTHER, contender, turns: [] },
      { key: key + OTHER, base: otherBase, contender: { ...other, name: `${name} (other)` }, turns: [] },
    ]
  })
}

/** Two versions of a server change places in every other round, so that neither always comes first. */
function inTurns(lanes: Lane[], round: number): Lane[] {
  if (round % 2 === 0) return lanes
  return lanes.map((lane, at) => {
    if (lane.other) return lanes[at + 1] as Lane
    return lanes[at - 1]?.other ? (lanes[at - 1] as Lane) : lane
  })
}

async function takeTurn(load: Load, contender: Contender, seconds: number): Promise<Turn> {
  const { server, database, groups, background = [] } = contender
  const startedAt = performance.now()
  const before = server.cpuTime()
  const databaseBefore = database?.cpuTime()
  const run = await load.run({ ports: server.ports, seconds, groups: [...Object.values(groups), ...background] })
  const cpu = server.cpuTime() - before
  const databaseCpu = database && database.cpuTime() - (databaseBefore as number)
  const answered = run.groups.reduce((sum, group) => sum + group.answered, 0)
  return {
    groups: run.groups,
    cpuMicroseconds: cpu / answered,
    databaseMicroseconds: databaseCpu === undefined ? null : databaseCpu / answered,
    serverShare: cpu / 1000 / (performance.now() - startedAt),
    loadShare: run.cpuShare,
    memory: server.memory(),
  }
}

function rowsOf({ key, contender: { name, server, groups }, warmUp, turns }: Lane): [string, Row][] {
  return Object.keys(groups).map((part, index) => {
    const about = { name: part === '' ? name : `${name}, ${part}`, kind: server.kind, index }
    return [rowKey(key, part), rowOf(about, { warmUp: warmUp as Turn, turns })]
  })
}

function rowKey(key: string, part: string): string {
  return part === '' ? key : `${key} ${part}`
}

/** Completes the rows of a lane with their ratios to other rows. */
function compare({ key, base, other, contender }: Lane, rows: Record<string, Row>): void {
  for (const part of Object.keys(contender.groups)) {
    const row = rows[rowKey(key, part)] as Row
    const baseRow = base && rows[rowKey(base, part)]
    if (baseRow) {
      const [speed, cpu] = [speedRatio(row, baseRow), cpuRatio(row, baseRow)]
      Object.assign(row, { base: baseRow.name, ratio: speed?.median, cpuRatio: cpu?.median ?? null })
    }
    const otherRow = other && rows[rowKey(other, part)]
    if (otherRow) {
      row.toOther = { requestsPerSecond: speedRatio(row, otherRow), cpuMicroseconds: cpuRatio(row, otherRow) }
    }
  }
}
