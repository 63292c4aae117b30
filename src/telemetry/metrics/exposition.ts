import { setTimeout as sleep } from 'node:timers/promises'
import { type Counter, type Metric as LibraryMetric, Registry } from '@prometheus-io/client'
import eventLoopLag from '@prometheus-io/client/lib/metrics/eventLoopLag.js'
import heapSizeAndUsed from '@prometheus-io/client/lib/metrics/heapSizeAndUsed.js'
import heapSpacesSizeAndUsed from '@prometheus-io/client/lib/metrics/heapSpacesSizeAndUsed.js'
import osMemoryHeap from '@prometheus-io/client/lib/metrics/osMemoryHeap.js'
import processCpuTotal from '@prometheus-io/client/lib/metrics/processCpuTotal.js'
import processHandles from '@prometheus-io/client/lib/metrics/processHandles.js'
import processMaxFileDescriptors from '@prometheus-io/client/lib/metrics/processMaxFileDescriptors.js'
import processOpenFileDescriptors from '@prometheus-io/client/lib/metrics/processOpenFileDescriptors.js'
import processRequests from '@prometheus-io/client/lib/metrics/processRequests.js'
import processResources from '@prometheus-io/client/lib/metrics/processResources.js'
import processStartTime from '@prometheus-io/client/lib/metrics/processStartTime.js'
import version from '@prometheus-io/client/lib/metrics/version.js'
import { CATALOGUE, type Metric, PREFIX } from './catalogue.ts'
import type { Counters, MetricName, Series } from './counters.ts'

/** The metrics that are not counted by events. Each line has the values of its labels, in their order, and the number. */
export type MeasuredValues = Partial<Record<MetricName, [labels: string[], value: number][]>>

/** The shortest pause between two texts. */
const PAUSE_MS = 100

/**
 * All metrics in Prometheus's text format: the counters, what `measure` returns, and the library's process metrics. The library
 * reads the counters for each scrape: adding to its own counters is expensive (docs/adr/0020).
 */
export function createExposition(counters: Counters, measure: () => Promise<MeasuredValues>) {
  const registry = new Registry()
  let measured: MeasuredValues = {}
  for (const [name, metric] of Object.entries<Metric>(CATALOGUE)) {
    const { type, help } = metric
    const described = { name: PREFIX + name, help, type }
    const get = async () => ({ ...described, values: linesOf(name as MetricName, metric) })
    // A registry uses only these parts of a metric, and its own `aggregate` makes no others.
    registry.registerMetric({ ...described, get } as unknown as LibraryMetric)
  }
  collectProcessMetrics(registry)
  countEarlierCpuTime(registry)

  function linesOf(name: MetricName, metric: Metric) {
    const counted = counters.seriesOf(name).flatMap((series) => {
      const labels = labelsOf(metric, series.labels)
      const { buckets } = metric
      return buckets ? histogramLines(name, labels, buckets, series) : [{ labels, value: counters.valueAt(series.at) }]
    })
    const others = (measured[name] ?? []).map(([values, value]) => ({ labels: labelsOf(metric, values), value }))
    return [...counted, ...others]
  }

  function histogramLines(name: string, labels: Record<string, string>, buckets: readonly number[], { at }: Series) {
    let count = 0
    const lines = [...buckets, '+Inf'].map((bound, index) => {
      count += counters.valueAt(at + index)
      return { metricName: `${PREFIX}${name}_bucket`, labels: { ...labels, le: String(bound) }, value: count }
    })
    const sum = counters.valueAt(at + buckets.length + 1)
    return [
      ...lines,
      { metricName: `${PREFIX}${name}_sum`, labels, value: sum },
      { metricName: `${PREFIX}${name}_count`, labels, value: count },
    ]
  }

  let underWay: Promise<string> | undefined
  // The first text waits until the library has measured the delay of the event loop.
  let nextAt = performance.now() + PAUSE_MS
  return {
    type: registry.contentType,
    /** Calls share the next text. Making it keeps token requests waiting, so there is a pause after the previous one. */
    text(): Promise<string> {
      underWay ??= sleep(Math.max(0, nextAt - performance.now()))
        .then(measure)
        .then((values) => {
          measured = values
          nextAt = performance.now() + PAUSE_MS
          return registry.metrics()
        })
        .finally(() => (underWay = undefined))
      return underWay
    },
  }
}

/** The library counts CPU time from when it is loaded. */
function countEarlierCpuTime(registry: Registry): void {
  const { user, system } = process.cpuUsage()
  for (const [kind, microseconds] of Object.entries({ user_: user, system_: system, '': user + system })) {
    const counter = registry.getSingleMetric(`process_cpu_${kind}seconds_total`) as Counter
    counter.inc(microseconds / 1e6)
  }
}

function labelsOf({ labels }: Metric, values: readonly string[]): Record<string, string> {
  return Object.fromEntries(Object.keys(labels).map((label, index) => [label, values[index] as string]))
}

/** The library's metrics except `gc` and `eventLoopUtilization`, which take 3 % or more of a check's CPU time (docs/adr/0020). */
const PROCESS_METRICS = [
  processCpuTotal,
  processStartTime,
  osMemoryHeap,
  processOpenFileDescriptors,
  processMaxFileDescriptors,
  eventLoopLag,
  processResources,
  processHandles,
  processRequests,
  heapSizeAndUsed,
  heapSpacesSizeAndUsed,
  version,
]

/** How often the library measures the delay of the event loop. Milliseconds. */
const PRECISION_MS = 10

/** Collects the library's metrics of this process, except expensive ones. */
export function collectProcessMetrics(registry: Registry): void {
  for (const collect of PROCESS_METRICS) collect(registry, { eventLoopMonitoringPrecision: PRECISION_MS })
}
