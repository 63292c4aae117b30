import type { Registry } from '@prometheus-io/client'
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
