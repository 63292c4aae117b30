import type { Row } from './measure.ts'
import { findRow, type Results } from './results.ts'
import { table } from './table.ts'

type Measured = Pick<Results, 'sections'>

interface Target {
  asked: string
  /** Undefined: not measured in this run. */
  measured: (results: Measured) => number | undefined
  isMet: (measured: number) => boolean
}

const atLeast = (limit: number) => (measured: number) => measured >= limit
const atMost = (limit: number) => (measured: number) => measured <= limit
const above = (limit: number) => (measured: number) => measured > limit

const PEERS_IN_MEMORY = ['oauth2-server in memory', 'oidc-provider in memory']

/** Rows that are not this server's, or are of more than one process of it. */
const OTHERS = /constant|bare|oauth2-server|oidc-provider|2 workers|rolling restarts/

const targets: Target[] = [
  {
    asked: 'issuance: at least 0.75 of constant Fastify',
    measured: speed('issuance', 'this server', 'constant Fastify'),
    isMet: atLeast(0.75),
  },
  {
    asked: 'issuance: p99 at most 3 times that of constant Fastify',
    measured: quotient('issuance', 'this server', 'constant Fastify', ({ p99 }) => p99),
    isMet: atMost(3),
  },
  {
    asked: 'issuance: at least 10 times oauth2-server durable',
    measured: speed('issuance', 'this server', 'oauth2-server durable'),
    isMet: atLeast(10),
  },
  {
    asked: 'issuance: at least 15 times oidc-provider durable',
    measured: speed('issuance', 'this server', 'oidc-provider durable'),
    isMet: atLeast(15),
  },
  ...PEERS_IN_MEMORY.map((peer) => ({
    asked: `issuance: more than ${peer}`,
    measured: speed('issuance', 'this server', peer),
    isMet: above(1),
  })),
  {
    asked: 'verify: at least 0.80 of the constant GET',
    measured: speed('checks', 'verify', 'constant GET'),
    isMet: atLeast(0.8),
  },
  {
    asked: 'introspect: at least 0.70 of the constant POST',
    measured: speed('checks', 'introspect', 'constant POST'),
    isMet: atLeast(0.7),
  },
  {
    asked: 'wrong secret: at most the CPU time of a good one',
    measured: quotient('secrets', 'wrong secret', 'good secret', cpu),
    isMet: atMost(1),
  },
  {
    asked: '20,000 applications: at least 0.90 of one',
    measured: speed('applications', 'all applications', 'one application'),
    isMet: atLeast(0.9),
  },
  {
    asked: '5 million tokens, issue: at least 0.90 of none',
    measured: speed('tokens', 'issue (large store)', 'issue (empty store)'),
    isMet: atLeast(0.9),
  },
  ...['few', 'many'].map((count) => ({
    asked: `5 million tokens, verify ${count}: at least 0.90 of none`,
    measured: speed('tokens', `verify ${count} (large store)`, `verify ${count} (empty store)`),
    isMet: atLeast(0.9),
  })),
  {
    asked: '5 million tokens: ready in at most 0.5 s',
    measured: figure('tokens', 'seconds to ready'),
    isMet: atMost(0.5),
  },
  {
    asked: 'purge: at least 0.90 of the speed without',
    measured: speed('purge', 'while purging', 'without'),
    isMet: atLeast(0.9),
  },
  {
    asked: 'purge: at most 20 ms more at p99',
    measured: difference('purge', 'while purging', 'without', ({ p99 }) => p99),
    isMet: atMost(20),
  },
  {
    asked: 'slow disk: checks keep at least 0.9',
    measured: speed('slow-disk', 'slow disk, 64 check', 'fast disk, 64 check'),
    isMet: atLeast(0.9),
  },
  {
    asked: 'slow disk: issuance to 256 keeps at least 0.5',
    measured: speed('slow-disk', 'slow disk, 256 issue', 'fast disk, 256 issue'),
    isMet: atLeast(0.5),
  },
  ...['issue', 'verify'].flatMap((work) =>
    ['2 workers', '2 workers, 64 each'].map((pair) => ({
      asked: `${pair}, ${work}: at most 1.15 times the CPU time a request`,
      measured: quotient('workers', `${work} (${pair})`, `${work} (1 worker)`, cpu),
      isMet: atMost(1.15),
    })),
  ),
  {
    asked: 'rolling restarts: no request dropped',
    measured: restartErrors,
    isMet: atMost(0),
  },
  { asked: 'memory: at most 200 MiB, one process, all sections', measured: largestMemory, isMet: atMost(200) },
]

/** Every target that these results tell about: what was asked, what was measured, whether it is met. */
export function targetsText(results: Measured): string {
  const rows = targets.flatMap(({ asked, measured, isMet }) => {
    const value = measured(results)
    return value === undefined ? [] : [[asked, value.toPrecision(3), isMet(value) ? 'met' : 'MISSED']]
  })
  return table([['asked', 'measured', ''], ...rows])
}

/** One row's speed to another's: the ratio of the rounds where there is one. */
function speed(section: string, name: string, base: string) {
  return (results: Measured) => {
    const row = findRow(results, section, name)
    if (row?.base === base && row.ratio !== null) return row.ratio
    return quotient(section, name, base, ({ requestsPerSecond }) => requestsPerSecond)(results)
  }
}

function quotient(section: string, name: string, base: string, value: (row: Row) => number) {
  return both(section, name, base, (one, other) => value(one) / value(other))
}

function difference(section: string, name: string, base: string, value: (row: Row) => number) {
  return both(section, name, base, (one, other) => value(one) - value(other))
}

function both(section: string, name: string, base: string, combine: (one: Row, other: Row) => number) {
  return (results: Measured) => {
    const one = findRow(results, section, name)
    const other = findRow(results, section, base)
    return one && other && combine(one, other)
  }
}

function figure(section: string, name: string) {
  return ({ sections }: Measured) => sections.find((one) => one.name === section)?.figures?.[name]
}

function restartErrors(results: Measured): number | undefined {
  const rows = ['verify', 'issue'].map((group) => findRow(results, 'workers', `rolling restarts, ${group}`))
  return rows.every((row) => row !== undefined) ? rows.reduce((sum, { errors }) => sum + errors, 0) : undefined
}

function largestMemory({ sections }: Measured): number | undefined {
  const own = sections.flatMap(({ rows }) => rows).filter(({ name }) => !OTHERS.test(name))
  return own.length === 0 ? undefined : Math.max(...own.map(({ memoryPeak }) => memoryPeak))
}

function cpu({ cpuMicroseconds }: Row): number {
  return cpuMicroseconds ?? Number.NaN
}
