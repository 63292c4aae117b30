// What the bench and the load program say to each other: a Run there, RunFigures back.

/** A list of requests, and the status that each of them must answer. */
export interface RequestList {
  /** A JSON array of complete HTTP/1.1 requests, one string each. */
  file: string
  /** How often the list is used, relative to the weights of the group's other lists. */
  weight: number
  expect: number
}

/** Connections that send the same kinds of requests, with figures of their own. */
export interface Group {
  connections: number
  lists: RequestList[]
  /** Overrides the ports of the run. */
  port?: number | undefined
}

/** One run of the load program: all groups at the same time. */
export interface Run {
  /** The servers'; connections take turns with them. */
  ports: [number, ...number[]]
  seconds: number
  groups: Group[]
}

export interface GroupFigures {
  /** Answers within the run's seconds. `answered` includes the few that came later. */
  requestsPerSecond: number
  answered: number
  /** Milliseconds. */
  p50: number
  p99: number
  p999: number
  max: number
  /** Answers with another status than expected. */
  unexpected: number
  /** Connections that ended, failed or timed out without an answer. */
  broken: number
}

export interface RunFigures {
  groups: GroupFigures[]
  /** The load program's own share of one core, 0 to 1. */
  cpuShare: number
}
