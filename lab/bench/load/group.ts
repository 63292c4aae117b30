import { createHistogram } from 'node:perf_hooks'
import { openConnection } from './connection.ts'
import type { Group, GroupFigures, RequestList, Run } from './protocol.ts'

/** The longest latency that the histogram can record, in microseconds. */
const HIGHEST = 100_000_000

/** Opens a group's connections. They send requests until `isOver`. */
export function openGroup(
  { connections, lists, port: ownPort }: Group,
  {
    ports,
    requestsOf,
    isOver,
  }: Pick<Run, 'ports'> & { requestsOf: (list: RequestList) => Buffer[]; isOver: () => boolean },
) {
  const histogram = createHistogram({ lowest: 1, highest: HIGHEST, figures: 4 })
  const tracks = lists.map((list) => ({ requests: requestsOf(list), expect: list.expect }))
  const pattern = lists.flatMap((list, at) => Array<number>(list.weight).fill(at))
  const counts = { answered: 0, inTime: 0, unexpected: 0, broken: 0 }
  const ended: Promise<void>[] = []
  const open = Array.from({ length: connections }, (_, index) => {
    const { promise, resolve } = Promise.withResolvers<void>()
    ended.push(promise)
    const port = ownPort ?? (ports[index % ports.length] as number)
    return openConnection({ port, next: walk(index), onAnswer, onBroken, onEnd: resolve })
  })

  /** Each connection starts at a different point of the pattern and of the lists. */
  function walk(index: number) {
    const at = tracks.map(({ requests }) => Math.floor((index * requests.length) / connections))
    let step = index % pattern.length
    return () => {
      if (isOver()) return undefined
      const which = pattern[step] as number
      step = step + 1 === pattern.length ? 0 : step + 1
      const { requests, expect } = tracks[which] as (typeof tracks)[number]
      const position = at[which] as number
      at[which] = position + 1 === requests.length ? 0 : position + 1
      return { request: requests[position] as Buffer, expect }
    }
  }

  function onAnswer(milliseconds: number, expected: boolean): void {
    counts.answered++
    if (!isOver()) counts.inTime++
    if (!expected) counts.unexpected++
    histogram.record(Math.min(HIGHEST, Math.max(1, Math.round(milliseconds * 1000))))
  }

  function onBroken(reason: string): void {
    if (counts.broken++ === 0) process.stderr.write(`load: ${reason}\n`)
  }

  /** Ends the connections that still wait for an answer; each counts as broken. */
  function abandon(): void {
    for (const connection of open) connection.abandon()
  }

  function figures(seconds: number): GroupFigures {
    const latency = (percentile: number) => histogram.percentile(percentile) / 1000
    return {
      requestsPerSecond: counts.inTime / seconds,
      answered: counts.answered,
      p50: latency(50),
      p99: latency(99),
      p999: latency(99.9),
      max: histogram.max / 1000,
      unexpected: counts.unexpected,
      broken: counts.broken,
    }
  }

  return { ended: Promise.all(ended), abandon, figures }
}
