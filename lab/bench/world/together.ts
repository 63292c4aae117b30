import type { Measured } from '../measure.ts'
import { sum } from './proc-stat.ts'

/** Several servers as one: they share the connections, and their CPU time and memory are added up. */
export function together(servers: [Measured, ...Measured[]]): Measured {
  const [{ kind }] = servers
  const ports = servers.flatMap((server) => server.ports) as Measured['ports']
  const cpuTime = () => sum(servers.map((server) => server.cpuTime()))
  const memory = () => {
    const memories = servers.map((server) => server.memory())
    return {
      now: sum(memories.map(({ now }) => now)),
      peak: sum(memories.map(({ peak }) => peak)),
      processes: sum(memories.map(({ processes }) => processes)),
    }
  }
  return { kind, ports, cpuTime, memory }
}
