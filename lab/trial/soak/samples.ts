import { readdirSync, statSync } from 'node:fs'
import { median } from '../../bench/row.ts'
import { cpuTime, memory, sum } from '../../bench/world/proc-stat.ts'
import type { Server } from '../world/server.ts'

/** What a server needs at a moment. */
export interface Sample {
  minutes: number
  /** Resident memory in MiB: of the leader, and of all workers together. */
  leader: number
  workers: number
  /** Open files and connections of all processes. */
  descriptors: number
  /** Bytes. */
  log: number
  /** Since its start, of all processes. */
  cpuSeconds: number
  /** The longest delay of a worker's event loop within the last second, milliseconds. */
  lag: number
  /** Answered so far. */
  requests: number
}

/** Reads /proc, the server's log and its metrics. */
export async function takeSample(server: Server, metrics: string): Promise<Omit<Sample, 'minutes' | 'requests'>> {
  const [leader, ...workers] = server.processes() as [number, ...number[]]
  const ofWorkers = sum(workers.map((pid) => memory(pid).now))
  const text = await (await fetch(metrics)).text()
  const lags = [...text.matchAll(/^token_server_worker_event_loop_lag_seconds\{.*\} (.+)$/gm)].map(([, lag]) =>
    Number(lag),
  )
  return {
    leader: memory(leader).now - ofWorkers,
    workers: ofWorkers,
    descriptors: sum([leader, ...workers].map(countDescriptors)),
    log: statSync(server.logFile).size,
    cpuSeconds: cpuTime(leader) / 1e6,
    lag: Math.max(0, ...lags) * 1000,
  }
}

/** 0 if the process has exited meanwhile. */
function countDescriptors(pid: number): number {
  try {
    return readdirSync(`/proc/${pid}/fd`).length
  } catch {
    return 0
  }
}

/** The last third relative to the middle one: medians, and for the log the bytes for a request. */
export function growthOf(samples: Sample[]) {
  const third = Math.floor(samples.length / 3)
  const [middle, last] = [samples.slice(-2 * third, -third), samples.slice(-third)]
  const ratio = (value: (samples: Sample[]) => number) => value(last) / value(middle)
  const medianOf = (value: (sample: Sample) => number) => ratio((samples) => median(samples.map(value)))
  return {
    memory: medianOf(({ leader, workers }) => leader + workers),
    descriptors: medianOf(({ descriptors }) => descriptors),
    log: ratio((samples) => increase(samples, 'log') / increase(samples, 'requests')),
    lag: medianOf(({ lag }) => lag),
  }
}

export function increase(samples: Sample[], field: keyof Sample): number {
  return (samples.at(-1) as Sample)[field] - (samples[0] as Sample)[field]
}

/** The samples as a table that other programs can read. */
export function csvOf(samples: Sample[]): string {
  const fields = Object.keys(samples[0] as Sample) as (keyof Sample)[]
  const lines = samples.map((sample) => fields.map((field) => Number(sample[field].toFixed(3))).join(','))
  return `${[fields.join(','), ...lines].join('\n')}\n`
}
