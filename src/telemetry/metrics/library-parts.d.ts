/** A part of what `collectDefaultMetrics` collects: it adds its metrics to the registry. */
declare module '@prometheus-io/client/lib/metrics/*' {
  import type { Registry } from '@prometheus-io/client'

  const collect: (registry: Registry, config?: { eventLoopMonitoringPrecision: number }) => void
  export default collect
}
