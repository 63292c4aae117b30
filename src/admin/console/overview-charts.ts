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
      title: 'Tokens issued per minute',
      description: `Access tokens that were issued, ${span}.`,
      series: [series('Tokens', ({ tokens }) => tokens)],
    },
    {
      ...counted,
      id: 'checks',
      title: 'Token checks per minute',
      description: `Checks of tokens, ${span}.`,
      series: [
        series('Valid', ({ activeChecks }) => activeChecks),
        series('Not valid', ({ inactiveChecks }) => inactiveChecks),
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
      title: 'Response time: tokens',
      description: `How long requests take, ${span}: half of them are faster than the median, 99 % faster than p99.`,
      series: [
        series('p99', ({ tokenLatency }) => tokenLatency?.p99),
        series('Median', ({ tokenLatency }) => tokenLatency?.p50),
      ],
    },
    {
      ...timed,
      id: 'check-latency',
      title: 'Response time: checks',
      description: `How long requests take, ${span}: half of them are faster than the median, 99 % faster than p99.`,
      series: [
        series('p99', ({ checkLatency }) => checkLatency?.p99),
        series('Median', ({ checkLatency }) => checkLatency?.p50),
      ],
    },
  ]
}
