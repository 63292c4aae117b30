import type { Statistics, Traffic } from '../../domain/statistics.ts'
import type { Chart, Series } from './chart.ts'
import { duration, short } from './figures.ts'

/** How long a server is new: the last hour of it would be a few points at the side. Milliseconds. */
const NEW_MS = 10 * 60_000

/** The charts of the overview, in their order. */
export function overviewCharts(statistics: Statistics): Chart[] {
  const isNew = statistics.at - statistics.startedAt < NEW_MS
  const minutes = isNew ? statistics.lately : statistics.minutes
  const span = isNew ? 'over the last ten minutes' : 'over the last hour'
  const moments = minutes.map(({ endedAt }) => endedAt)
  const series = (label: string, of: (traffic: Traffic) => number | undefined): Series => ({
    label,
    figures: minutes.map(({ traffic }) => traffic && of(traffic)),
  })
  const counted = { moments, write: short, step: 1 }
  const timed = { moments, write: duration, step: 0.0001 }
  return [
    {
      ...counted,
      id: 'tokens',
      title: 'Tokens per minute',
      description: `Access tokens that were issued, ${span}.`,
      series: [series('Tokens', ({ tokens }) => tokens)],
    },
    {
      ...counted,
      id: 'checks',
      title: 'Checks per minute',
      description: `Checks of tokens, ${span}.`,
      series: [
        series('Active', ({ activeChecks }) => activeChecks),
        series('Not active', ({ inactiveChecks }) => inactiveChecks),
      ],
    },
    {
      ...counted,
      id: 'refusals',
      title: 'Refusals per minute',
      description: `Requests that were refused or failed, ${span}.`,
      series: [series('Refusals', ({ refusals }) => refusals)],
    },
    {
      ...timed,
      id: 'token-latency',
      title: 'How long requests for tokens take',
      description: `The time to the answer, in each minute, ${span}.`,
      series: [
        series('99 of 100 at most', ({ tokenLatency }) => tokenLatency?.p99),
        series('Half of them at most', ({ tokenLatency }) => tokenLatency?.p50),
      ],
    },
    {
      ...timed,
      id: 'check-latency',
      title: 'How long checks take',
      description: `The time to the answer, in each minute, ${span}.`,
      series: [
        series('99 of 100 at most', ({ checkLatency }) => checkLatency?.p99),
        series('Half of them at most', ({ checkLatency }) => checkLatency?.p50),
      ],
    },
  ]
}
