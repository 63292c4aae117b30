import { table } from '../bench/report/table.ts'
import type { Fault } from './faults.ts'
import type { Round } from './round.ts'

const HEADING = [
  'fault',
  'rounds',
  'tokens',
  'revocations',
  'checks',
  's without a token',
  's to the first token',
  '503',
  'slowest 503 s',
  'unanswered',
  'connections',
  'lost tokens',
  'lost revocations',
  'checks accepted late',
  'checks refused wrongly',
]

/** All rounds, one line for each fault. Of times it has the median and the longest. */
export function reportText(rounds: Round[]): string {
  const byFault = Map.groupBy(rounds, ({ fault }) => fault)
  return table([HEADING, ...[...byFault].map(([fault, some]) => cells(fault, some))])
}

function cells({ name }: Fault, rounds: Round[]): string[] {
  const all = (of: (round: Round) => number) => rounds.map(of)
  return [
    name,
    String(rounds.length),
    total(all((round) => round.tokens)),
    total(all((round) => round.revocations)),
    total(all((round) => round.checks)),
    times(all((round) => round.without)),
    times(all((round) => round.firstToken)),
    total(all((round) => round.refused)),
    Math.max(...all((round) => round.slowestRefusal)).toFixed(2),
    total(all((round) => round.unanswered + round.unexpected)),
    String(Math.max(...all((round) => round.connections))),
    total(all((round) => round.lost.tokens)),
    total(all((round) => round.lost.revocations)),
    total(all((round) => round.acceptedLate)),
    total(all((round) => round.refusedWrongly)),
  ]
}

function total(numbers: number[]): string {
  return numbers.reduce((sum, number) => sum + number, 0).toLocaleString('en')
}

function times(seconds: number[]): string {
  const sorted = seconds.toSorted((a, b) => a - b)
  const [median, longest] = [sorted[Math.floor(sorted.length / 2)], sorted.at(-1)] as [number, number]
  return sorted.length === 1 ? longest.toFixed(2) : `${median.toFixed(2)} (${longest.toFixed(2)})`
}

/** One round in one line. */
export function roundText({ fault, ...round }: Round): string {
  const [lost, back] = [round.lost.tokens, round.lost.revocations]
  return `${fault.name}: ${round.tokens} tokens; ${round.without.toFixed(1)} s without; the first ${round.firstToken.toFixed(2)} s after the cluster was back; ${round.refused} × 503, the slowest ${round.slowestRefusal.toFixed(2)} s; lost ${lost} tokens, ${back} revocations`
}

/** Whether something is lost, or was answered as it must not be. */
export function isBroken({ lost, acceptedLate, refusedWrongly, unexpected }: Round): boolean {
  return lost.tokens + lost.revocations + acceptedLate + refusedWrongly + unexpected > 0
}
