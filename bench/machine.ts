import { cpus, release, totalmem } from 'node:os'

/** What figures depend on: those of different machines are not compared. */
export interface Machine {
  cpu: string
  cores: number
  /** GiB. */
  memory: number
  kernel: string
  node: string
}

/** This machine. */
export function thisMachine(): Machine {
  const all = cpus()
  return {
    cpu: all[0]?.model ?? 'unknown',
    cores: all.length,
    memory: Math.round(totalmem() / 2 ** 30),
    kernel: release(),
    node: process.version,
  }
}

/** A machine in one line. */
export function machineWords({ cpu, cores, memory, kernel, node }: Machine): string {
  return `${cores} cores of ${cpu}, ${memory} GiB, Linux ${kernel}, Node.js ${node}`
}
