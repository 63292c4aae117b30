import { table } from '../bench/report/table.ts'
import type { Fault } from './faults.ts'
import type { Figures } from './figures.ts'
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

/** A table of the rounds, one line for each fault and way to the cluster. Times are the median and the longest. */
export function reportText(rounds: Round[]): string {
  const byFault = Map.groupBy(rounds, ({ fault }) => fault)
  return table([HEADING, ...[...byFault].flatMap(([fault, some]) => lines(fault, some))])
}

function lines({ name }: Fault, rounds: Round[]): string[][] {
  const all = (of: (round: Round) => number) => rounds.map(of)
  const byProxy = rounds.flatMap(({ byProxy }) => byProxy ?? [])
  const line = [
    name,
    String(rounds.length),
    ...cells(rounds),
    String(Math.max(...all((round) => round.connections))),
    total(all((round) => round.lost.tokens)),
    total(all((round) => round.lost.revocations)),
    total(all((round) => round.acceptedLate)),
    total(all((round) => round.refusedWrongly)),
  ]
  return byProxy.length === 0 ? [line] : [line, [`${name}, the node by HAProxy`, '', ...cells(byProxy)]]
}

function cells(figures: Figures[]): string[] {
  const all = (of: (one: Figures) => number) => figures.map(of)
  return [
    total(all(({ tokens }) => tokens)),
    total(all(({ revocations }) => revocations)),
    total(all(({ checks }) => checks)),
    times(all(({ withoutToken }) => withoutToken)),
    times(all(({ firstToken }) => firstToken)),
    total(all(({ refused }) => refused)),
    Math.max(...all(({ slowestRefusal }) => slowestRefusal)).toFixed(2),
    total(all(({ unanswered, unexpected }) => unanswered + unexpected)),
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
  const { tokens, revocations } = round.lost
  return `${fault.name}: ${round.tokens} tokens; ${round.withoutToken.toFixed(1)} s without; the first ${round.firstToken.toFixed(2)} s after the cluster was back; ${round.refused} × 503, the slowest ${round.slowestRefusal.toFixed(2)} s; lost ${tokens} tokens, ${revocations} revocations`
}

/** Whether something was lost, or was answered wrongly. */
export function isBroken({ lost, acceptedLate, refusedWrongly, unexpected, byProxy }: Round): boolean {
  return lost.tokens + lost.revocations + acceptedLate + refusedWrongly + unexpected + (byProxy?.unexpected ?? 0) > 0
}
