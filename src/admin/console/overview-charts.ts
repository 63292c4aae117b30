import type { Latency, Statistics, Traffic } from '../../domain/statistics.ts'
import type { Chart, Series } from './chart.ts'
import { duration, short } from './figures.ts'

/** Minutes shown soon after a start, when an hour would be mostly empty. Multiples of 4, for whole minutes on the x axis. */
const SPANS = [4, 8, 20, 40]

/** Up to this many minutes, there is a point every ten seconds. */
const MAX_LATELY = 8

const MINUTE_MS = 60_000

/** The charts of the overview, in their order. */
export function overviewCharts(statistics: Statistics): Chart[] {
  const { minutes, span } = shownOf(statistics)
  const moments = minutes.map(({ endedAt }) => endedAt)
  const series = (label: string, of: (traffic: Traffic) => number | undefined): Series => ({
    label,
    figures: minutes.map(({ traffic }) => traffic && of(traffic)),
  })
  const counted = { moments, write: short, step: 1 }
  const latencies = (id: string, title: string, of: (traffic: Traffic) => Latency | undefined): Chart => ({
    moments,
    write: duration,
    step: 0.0001,
    id,
    title,
    description: `How long requests take, ${span}: half of them are faster than the median, 99 % faster than p99.`,
    series: [series('p99', (traffic) => of(traffic)?.p99), series('Median', (traffic) => of(traffic)?.p50)],
  })
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
    latencies('token-latency', 'Response time: tokens', ({ tokenLatency }) => tokenLatency),
    latencies('check-latency', 'Response time: checks', ({ checkLatency }) => checkLatency),
  ]
}

/** The points to show, and their time span in words. The span grows with the uptime of the server. */
function shownOf({ at, startedAt, lately, minutes }: Statistics) {
  const length = SPANS.find((span) => at - startedAt < span * MINUTE_MS)
  if (length === undefined) return { minutes, span: 'over the last hour' }
  const span = `over the last ${length} minutes`
  if (length > MAX_LATELY) return { minutes: minutes.slice(-length - 1), span }
  return { minutes: lately.slice(-length * 6 - 1), span }
}
