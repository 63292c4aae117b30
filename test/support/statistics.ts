import type { EndingSecret } from '../../src/domain/statistics.ts'
import type { Statistics, Traffic } from '../../src/views/statistics.ts'
import { START } from './world.ts'

export const NO_TRAFFIC: Traffic = {
  ...{ tokens: 0, activeChecks: 0, inactiveChecks: 0, refusals: 0, failures: 0 },
  ...{ tokenLatency: undefined, checkLatency: undefined },
}

/** Made-up traffic, different for each `n`. */
export function traffic(n: number): Traffic {
  return {
    tokens: 100 + n,
    activeChecks: 2000 - n,
    inactiveChecks: n,
    refusals: n % 7,
    failures: n % 3,
    tokenLatency: { p50Seconds: 0.002, p99Seconds: 0.009 },
    checkLatency: { p50Seconds: 0.0004, p99Seconds: 0.0021 },
  }
}

/** 61 windows, of which the last ones are known. */
const windows = (step: number, known: number) =>
  Array.from({ length: 61 }, (_, n) => ({
    endedAt: START - (60 - n) * step,
    traffic: n > 60 - known ? NO_TRAFFIC : undefined,
  }))

/** Statistics of an idle server, with some fields overridden. */
export function statisticsOf(more: Partial<Statistics> = {}): Statistics {
  return {
    at: START,
    startedAt: START - 10_000,
    version: '1.2.3',
    name: 'web-1:8080',
    lastMinute: NO_TRAFFIC,
    lastHour: NO_TRAFFIC,
    minutes: windows(60_000, 1),
    lastTenMinutes: windows(10_000, 2),
    refusals: [],
    outages: [],
    trouble: { failing: [], reported: [], refusedChecks: [], removed: [] },
    heavy: [],
    stored: { tokens: 0, checks: 0, refusals: 0 },
    hours: undefined,
    liveTokens: { count: 0, isExact: true },
    endingSecrets: { inADay: 0, inAWeek: 0, next: [] },
    certificates: [],
    issuers: [],
    workers: { expected: 1, serving: 1, each: [] },
    nodes: [],
    store: {
      ...{ kind: 'sqlite', isUp: true, canWrite: true, canCheck: true, problem: undefined },
      ...{ databaseBytes: 4096, logBytes: 0, lastBackupAt: undefined, auditHead: undefined },
    },
    ...more,
  }
}

/** A suite whose secret ends, with some fields overridden. */
export function endingSecret(more: Partial<EndingSecret> = {}): EndingSecret {
  const secret = { secretId: 1, endsAt: START, lastUsedAt: null, developerEmail: null, newerId: null }
  return { what: 'secret', kind: 'suite', id: 'store', name: 'Store', ...secret, ...more }
}
