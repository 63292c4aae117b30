import type { Counters, Difference } from './counters.ts'

/** The state of a process that answers requests. */
export interface Sample {
  requestsInFlight: number
  connections: number
  scryptRunning: number
  scryptWaiting: number
  /** CPU time since the previous sample. */
  cpuSeconds: number
  residentBytes: number
  /** The longest delay of its event loop since the previous sample. */
  lagSeconds: number
}

/** What such a process reports: what it has counted since its previous report, and its state. */
export interface Report {
  counted: Difference
  sample: Sample
}

export type Fleet = ReturnType<typeof createFleet>
export type Member = ReturnType<Fleet['join']>

/**
 * The processes that answer requests. What they have counted stays in the sums when they exit; their samples do not. Each
 * process has a slot, which its successor takes over; a process that finds no free slot counts only in the sums.
 */
export function createFleet(counters: Pick<Counters, 'merge'>, slots: number) {
  const members = new Set<{ slot: number | undefined; sample?: Sample }>()
  const cpuSeconds = Array<number>(slots).fill(0)

  return {
    join() {
      const taken = new Set([...members].map(({ slot }) => slot))
      const slot = [...cpuSeconds.keys()].find((index) => !taken.has(index))
      const member: { slot: number | undefined; sample?: Sample } = { slot }
      members.add(member)
      return {
        take({ counted, sample }: Report): void {
          counters.merge(counted)
          if (slot !== undefined) cpuSeconds[slot] = (cpuSeconds[slot] as number) + sample.cpuSeconds
          member.sample = sample
        },
        /** Frees its slot for a successor. The process may still report, even after it has left. */
        retire(): void {
          member.slot = undefined
        },
        leave(): void {
          members.delete(member)
        },
      }
    },

    sum(figure: keyof Sample): number {
      return members.values().reduce((total, { sample }) => total + (sample?.[figure] ?? 0), 0)
    },

    /** The last sample for each slot whose process has reported. */
    samples(): [slot: number, sample: Sample][] {
      return [...members].flatMap(({ slot, sample }) => (slot === undefined || !sample ? [] : [[slot, sample]]))
    },

    cpuSeconds: cpuSeconds as readonly number[],
  }
}
