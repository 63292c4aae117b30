import type { FastifyInstance } from 'fastify'
import { timestamp } from '../../administration/views.ts'
import type { Latency, NodeStatistics, Statistics, Traffic } from '../../domain/statistics.ts'
import type { AdminContext } from '../context.ts'

/** /statistics: the figures of the overview. */
export function statistics(api: FastifyInstance, { statistics }: AdminContext): void {
  api.get('/statistics', async () => statisticsView(await statistics.read()))
}

function statisticsView(statistics: Statistics) {
  const { at, startedAt, version, lastMinute, lastHour, minutes, refusals, workers, nodes, store } = statistics
  const { liveTokens, endingSecrets } = statistics
  return {
    at: timestamp(at),
    started_at: timestamp(startedAt),
    version,
    last_minute: trafficView(lastMinute),
    last_hour: trafficView(lastHour),
    minutes: minutes.map(({ endedAt, traffic }) => ({
      ended_at: timestamp(endedAt),
      traffic: traffic ? trafficView(traffic) : null,
    })),
    refusals,
    live_tokens: liveTokens ? { count: liveTokens.count, is_exact: liveTokens.isExact } : null,
    ending_secrets: endingSecrets
      ? {
          in_a_day: endingSecrets.inADay,
          in_a_week: endingSecrets.inAWeek,
          next: endingSecrets.next.map(({ endsAt, ...owner }) => ({ ...owner, ends_at: timestamp(endsAt) })),
        }
      : null,
    workers: {
      expected: workers.expected,
      serving: workers.serving,
      each: workers.each.map(({ worker, cpuSeconds, residentBytes, lagSeconds }) => ({
        worker,
        cpu_seconds: cpuSeconds,
        resident_bytes: residentBytes,
        lag_seconds: lagSeconds,
      })),
    },
    nodes: nodes.map(nodeView),
    store: {
      kind: store.kind,
      is_up: store.isUp,
      database_bytes: store.databaseBytes ?? null,
      log_bytes: store.logBytes ?? null,
      last_backup_at: store.lastBackupAt === undefined ? null : timestamp(store.lastBackupAt),
    },
  }
}

function nodeView({ name, version, startedAt, lastSeenAt, isThis, isGone, workers, lastMinute }: NodeStatistics) {
  return {
    name,
    version,
    started_at: timestamp(startedAt),
    last_seen_at: timestamp(lastSeenAt),
    is_this: isThis,
    is_gone: isGone,
    workers: { expected: workers.expected, serving: workers.serving },
    last_minute: { tokens: lastMinute.tokens, checks: lastMinute.checks, refusals: lastMinute.refusals },
  }
}

function trafficView(traffic: Traffic) {
  return {
    tokens: traffic.tokens,
    active_checks: traffic.activeChecks,
    inactive_checks: traffic.inactiveChecks,
    refusals: traffic.refusals,
    token_latency: latencyView(traffic.tokenLatency),
    check_latency: latencyView(traffic.checkLatency),
  }
}

function latencyView(latency: Latency | undefined) {
  return latency ? { p50_seconds: latency.p50, p99_seconds: latency.p99 } : null
}
