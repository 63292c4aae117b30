import type { Bench } from '../bench.ts'
import type { Ratio, Row } from '../row.ts'
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

/** The requests that take more CPU time than in the other version: in most rounds, and by more than what runs differ by. */
export function dearer(rows: Pick<Row, 'name' | 'toOther'>[]): string[] {
  return rows.flatMap(({ name, toOther }) => {
    const ratio = toOther?.cpuMicroseconds
    return ratio && isDearer(ratio) ? [`${name} (${ratio.median.toFixed(3)} times the CPU time)`] : []
  })
}

function isDearer({ median, lowerQuartile }: Ratio): boolean {
  return median > MOST && lowerQuartile > 1
}
