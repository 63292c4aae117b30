import { type Metric as LibraryMetric, Registry } from '@prometheus-io/client'
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
import type { Name, Numbers, Series } from './numbers.ts'

/** What is not counted by events: the values of the labels, in their order, and the number, for each line. */
export type Measured = Partial<Record<Name, [labels: string[], value: number][]>>

interface Line {
  metricName?: string
  labels: Record<string, string>
  value: number
}

/**
 * All that is known in Prometheus's text format: what was counted, what `measure` tells, and what the library knows of this
 * process. The library gets the numbers when they are asked for: adding to its own is expensive (docs/adr/0020).
 */
export function createExposition(numbers: Numbers, measure: () => Promise<Measured>) {
  const registry = new Registry()
  let measured: Measured = {}
  for (const [name, metric] of Object.entries<Metric>(CATALOGUE)) {
    const { type, help } = metric
    const described = { name: PREFIX + name, help, type }
    const get = async () => ({ ...described, values: linesOf(name as Name, metric) })
    // What a registry asks of a metric, as its own `aggregate` makes it, too.
    registry.registerMetric({ ...described, get } as unknown as LibraryMetric)
  }
  collectProcessMetrics(registry)

  function linesOf(name: Name, metric: Metric): Line[] {
    const counted = numbers.seriesOf(name).flatMap((series) => {
      const labels = labelsOf(metric, series.labels)
      const { buckets } = metric
      return buckets ? histogramLines(name, labels, buckets, series) : [{ labels, value: numbers.valueAt(series.at) }]
    })
    const others = (measured[name] ?? []).map(([values, value]) => ({ labels: labelsOf(metric, values), value }))
    return [...counted, ...others]
  }

  function histogramLines(name: Name, labels: Line['labels'], buckets: readonly number[], { at }: Series): Line[] {
    let count = 0
    const lines = [...buckets, '+Inf'].map((bound, index) => {
      count += numbers.valueAt(at + index)
      return { metricName: `${PREFIX}${name}_bucket`, labels: { ...labels, le: String(bound) }, value: count }
    })
    const sum = numbers.valueAt(at + buckets.length + 1)
    return [
      ...lines,
      { metricName: `${PREFIX}${name}_sum`, labels, value: sum },
      { metricName: `${PREFIX}${name}_count`, labels, value: count },
    ]
  }

  async function write(): Promise<string> {
    measured = await measure()
    return registry.metrics()
  }

  let underWay: Promise<string> | undefined
  return {
    type: registry.contentType,
    /** Who asks while a text is being made gets the same. */
    text(): Promise<string> {
      underWay ??= write().finally(() => {
        underWay = undefined
      })
      return underWay
    },
  }
}

function labelsOf({ labels }: Metric, values: readonly string[]): Record<string, string> {
  return Object.fromEntries(Object.keys(labels).map((label, index) => [label, values[index] as string]))
}

/** How often the library looks whether the event loop is late. Milliseconds. */
const PRECISION_MS = 10

/**
 * Collects what the library knows of a process, but for garbage collection and the use of the event loop: to be told of every
 * collection costs 3 % and more of the CPU time of a check (docs/performance).
 */
export function collectProcessMetrics(registry: Registry): void {
  for (const collect of [
    processCpuTotal,
    processStartTime,
    osMemoryHeap,
    processOpenFileDescriptors,
    processMaxFileDescriptors,
    processHandles,
    processRequests,
    processResources,
    heapSizeAndUsed,
    heapSpacesSizeAndUsed,
    version,
  ]) {
    collect(registry)
  }
  eventLoopLag(registry, { eventLoopMonitoringPrecision: PRECISION_MS })
}
