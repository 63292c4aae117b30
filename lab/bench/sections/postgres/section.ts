import { findBinaries } from '../../../../test/support/postgres/binaries.ts'
import type { Bench } from '../../bench.ts'
import { cpuRatio, speedRatio, totalCpuRatio } from '../../row.ts'
import { defineSection, Skipped } from '../../section.ts'
import { atLeast, atMost } from '../../targets.ts'
import { measureNodes } from './nodes.ts'
import { measurePurge } from './purge.ts'
import { measureSizes } from './sizes.ts'

/** Tokens in PostgreSQL: one node and two beside constant answers and SQLite, large tables, and the purge. */
export const postgres = defineSection({
  name: 'postgres',
  title: 'Tokens in PostgreSQL, 64 connections to each node unless a row says otherwise',
  contenders: 12,
  preparation: 360,
  run,
  targets: [
    {
      asked: 'issue with at most 1.15 times the CPU time of SQLite per token, without PostgreSQL',
      value: ({ issue, issueSqlite }) => cpuRatio(issue, issueSqlite),
      isMet: atMost(1.15),
    },
    {
      asked: 'verify with at most 1.5 times the CPU time of SQLite per check, without PostgreSQL',
      value: ({ verify, verifySqlite }) => cpuRatio(verify, verifySqlite),
      isMet: atMost(1.5),
    },
    {
      asked: 'PostgreSQL at most 10 µs of CPU time per token',
      value: ({ issue }) => issue.databaseMicroseconds,
      isMet: atMost(10),
    },
    {
      asked: 'PostgreSQL at most 10 µs of CPU time per check',
      value: ({ verify }) => verify.databaseMicroseconds,
      isMet: atMost(10),
    },
    {
      asked: 'at most 0.1 statements per token',
      value: (_rows, { statementsPerToken }) => statementsPerToken,
      isMet: atMost(0.1),
    },
    {
      asked: 'at most 0.1 statements per check',
      value: (_rows, { statementsPerCheck }) => statementsPerCheck,
      isMet: atMost(0.1),
    },
    {
      asked: '2 nodes issue with at most 1.15 times the CPU time per request, PostgreSQL included',
      value: ({ issueTwo, issue }) => totalCpuRatio(issueTwo, issue),
      isMet: atMost(1.15),
    },
    {
      asked: '2 nodes verify with at most 1.15 times the CPU time per request, PostgreSQL included',
      value: ({ verifyTwo, verify }) => totalCpuRatio(verifyTwo, verify),
      isMet: atMost(1.15),
    },
    {
      asked: 'p99 of a check among 20,000,000 tokens at most 1.2 times that among 1,000,000',
      value: ({ verifyMany, verifyFewer }) => verifyMany.p99 / verifyFewer.p99,
      isMet: atMost(1.2),
    },
    {
      asked: 'while purging at least 0.90 of the speed without',
      value: ({ purging, notPurging }) => speedRatio(purging, notPurging),
      isMet: atLeast(0.9),
    },
    {
      asked: 'while purging p99 at most 10 ms longer',
      value: ({ purging, notPurging }) => purging.p99 - notPurging.p99,
      isMet: atMost(10),
    },
    {
      asked: 'at least 60,000 expired tokens deleted a second beside issuing',
      value: (_rows, { purgedPerSecond }) => purgedPerSecond,
      isMet: atLeast(60_000),
    },
  ],
})

async function run(bench: Bench) {
  assertPostgresIsInstalled()
  const server = await bench.postgres()
  const nodes = await measureNodes(bench, server)
  const sizes = await measureSizes(bench, server)
  const purge = await measurePurge(bench, server)
  return {
    rows: { ...nodes.rows, ...sizes.rows, ...purge.rows },
    figures: { ...nodes.figures, ...purge.figures },
    notes: [
      `PostgreSQL ${server.version} with fsync, on the core of the load program; all nodes are on the other core.`,
      ...nodes.notes,
      ...sizes.notes,
      ...purge.notes,
    ],
  }
}

/** Throws Skipped where there are no binaries of PostgreSQL. */
export function assertPostgresIsInstalled(): void {
  try {
    findBinaries()
  } catch (error) {
    throw new Skipped((error as Error).message)
  }
}
