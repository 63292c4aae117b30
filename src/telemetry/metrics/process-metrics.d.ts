// The library has no types for its individual metrics.
declare module '@prometheus-io/client/lib/metrics/*.js' {
  import type { Registry } from '@prometheus-io/client'

  export default function collect(registry: Registry, options: { eventLoopMonitoringPrecision: number }): void
}
