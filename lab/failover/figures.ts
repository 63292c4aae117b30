import type { Write } from './cluster/probe.ts'
import type { Answer } from './load/load.ts'

/** What clients saw of one fault. Times in seconds. */
export interface Figures {
  tokens: number
  revocations: number
  checks: number
  /** Of the node where it took longest: from its last token before the fault to its first token after it. */
  withoutToken: number
  /** Of the node where it took longest: from the moment when the new primary took writes to its first token. */
  firstToken: number
  /** Answers 503, and how long the slowest of them took. */
  refused: number
  slowestRefusal: number
  /** Requests without an answer, and answers that no fault of the database explains. */
  unanswered: number
  unexpected: number
}

/**
 * Counts the answers of one round. The fault began at `at`, the cluster could be back from `from` on, and `end` is the write
 * that shows that it was.
 */
export function figuresOf(
  answers: readonly Answer[],
  { at, from, end }: { at: number; from: number; end: Write },
): Figures {
  const good = (kind: Answer['kind']) => answers.filter((answer) => answer.kind === kind && answer.status === 200)
  const refusals = answers.filter(({ status }) => status === 503)
  const perNode = Map.groupBy(good('token'), ({ node }) => node)
  return {
    tokens: good('token').length,
    revocations: good('revocation').length,
    checks: answers.filter(({ kind, status }) => kind === 'check' && (status === 200 || status === 401)).length,
    withoutToken: largest([...perNode.values()].map((tokens) => longestGap(tokens, at))) / 1000,
    firstToken: largest([...perNode.values()].map((tokens) => firstToken(tokens, { from, end }))) / 1000,
    refused: refusals.length,
    slowestRefusal: largest(refusals.map(({ sentAt, answeredAt }) => answeredAt - sentAt)) / 1000,
    unanswered: answers.filter(({ status }) => status === 0).length,
    unexpected: answers.filter((answer) => answer.status !== 0 && isUnexpected(answer)).length,
  }
}

/** No answer, or one that no fault of the database explains. */
export function isUnexpected({ kind, status }: Answer): boolean {
  return status !== 200 && status !== 503 && !(kind === 'check' && status === 401)
}

/** The longest time between two tokens of a node, if it ended after `at`. */
function longestGap(tokens: Answer[], at: number): number {
  const times = tokens.map(({ answeredAt }) => answeredAt).sort((a, b) => a - b)
  return largest(times.map((time, index) => (time > at ? time - (times[index - 1] ?? at) : 0)))
}

/** 0 if the token came before the write was seen to have ended. The write may have begun before `from`. */
function firstToken(tokens: Answer[], { from, end }: { from: number; end: Write }): number {
  const times = tokens.map(({ answeredAt }) => answeredAt).sort((a, b) => a - b)
  const first = times.find((time) => time >= Math.max(from, end.startedAt)) ?? Infinity
  return Math.max(0, first - end.endedAt)
}

/** The largest of any number of values: Math.max takes too few. */
function largest(numbers: number[]): number {
  return numbers.reduce((largest, one) => Math.max(largest, one), 0)
}
