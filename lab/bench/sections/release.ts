import type { Bench } from '../bench.ts'
import type { Row } from '../row.ts'
import { defineSection, Skipped } from '../section.ts'
import { contendersOf as checksOf } from './checks.ts'
import { contendersOf as secretsOf } from './secrets.ts'

/** What every request costs relative to another version, usually the last release. */
export const release = defineSection({
  name: 'release',
  title: 'This version relative to another one, 64 connections',
  contenders: 5,
  others: 5,
  preparation: 60,
  run,
})

async function run(bench: Bench) {
  const issuers = await bench.versions('issuing', { env: { FAILURE_LIMIT: 'off' } })
  const checkers = await bench.versions('checking')
  if (!issuers.other || !checkers.other) throw new Skipped('it needs --against')
  const [issuing, issuingOther] = [secretsOf(bench, issuers.ours), secretsOf(bench, issuers.other)]
  const [checking, checkingOther] = [await checksOf(bench, checkers.ours), await checksOf(bench, checkers.other)]
  const rows = await bench.measure({
    token: { name: 'token', ...issuing.correct, other: issuingOther.correct },
    wrong: { name: 'wrong secret', ...issuing.wrong, other: issuingOther.wrong },
    check: { name: 'check', ...checking.verify, other: checkingOther.verify },
    introspection: { name: 'introspection', ...checking.introspect, other: checkingOther.introspect },
    unknown: { name: 'unknown token', ...checking.unknown, other: checkingOther.unknown },
  })
  return { rows }
}

const MOST = 1.03

type Measured = Pick<Row, 'name' | 'toOther'>

/** The requests that take more CPU time than in the other version, in each of these runs: a slow moment of the host is in one. */
export function dearer(runs: Measured[][]): string[] {
  const [first = [], ...others] = runs.map((rows) => rows.filter(isDearer))
  const inAll = first.filter(({ name }) => others.every((rows) => rows.some((row) => row.name === name)))
  return inAll.map(({ name, toOther }) => `${name} (${toOther?.cpuMicroseconds?.median.toFixed(3)} times the CPU time)`)
}

/** In most rounds, and by more than what runs differ by. */
function isDearer({ toOther }: Measured): boolean {
  const ratio = toOther?.cpuMicroseconds
  return !!ratio && ratio.median > MOST && ratio.lowerQuartile > 1
}
