/** A list of requests that connections walk through, and the status that each of them must answer. */
export interface RequestList {
  /** A JSON array of whole HTTP/1.1 requests, one string each. */
  file: string
  /** How many of these come for each time that the other lists' weights come. */
  weight: number
  expect: number
}

/** Connections that do the same; their figures are apart from the other groups'. */
export interface Group {
  name: string
  connections: number
  lists: RequestList[]
}

/** One run of the load program: every group at once. */
export interface Run {
  port: number
  seconds: number
  groups: Group[]
}

export interface GroupFigures {
  name: string
  /** Answers within the run's seconds; `answered` has the few that came after them too. */
  requestsPerSecond: number
  answered: number
  /** Milliseconds. */
  p50: number
  p99: number
  p999: number
  max: number
  /** Answers with another status than expected, and connections that ended, failed or hung without an answer. */
  unexpected: number
  broken: number
}

export interface RunFigures {
  groups: GroupFigures[]
  /** The load program's own share of one core, 0 to 1. */
  cpuShare: number
}
