import type { Difference, Numbers } from './numbers.ts'

/** How a process that answers requests is doing. */
export interface Sample {
  requestsInFlight: number
  connections: number
  scryptRunning: number
  scryptWaiting: number
  /** CPU time since the sample before. */
  cpuSeconds: number
  residentBytes: number
  /** The longest that its event loop was late since the sample before. */
  lagSeconds: number
}

/** What such a process tells: what it has counted since it told before, and how it is doing. */
export interface Report {
  counted: Difference
  sample: Sample
}

/** A process that answers requests, as whoever adds up sees it. */
export interface Member {
  take(report: Report): void
  /** Another one has its place now; it goes on until it leaves. */
  retire(): void
  leave(): void
}

export type Fleet = ReturnType<typeof createFleet>

/**
 * The processes that answer requests, as one. What they have counted is added up and stays; what is so at the moment goes
 * with them. Each has one of so many places, which its successor takes over; whoever finds none is only added up.
 */
export function createFleet(numbers: Pick<Numbers, 'merge'>, places: number) {
  /** Those that answer, with their last samples; those that retire have no place any more. */
  const samples = new Map<Member, { place: number | undefined; sample?: Sample }>()
  const cpuSeconds = Array<number>(places).fill(0)

  function join(): Member {
    const taken = new Set([...samples.values()].map(({ place }) => place))
    const place = [...cpuSeconds.keys()].find((index) => !taken.has(index))
    const member: Member = {
      take({ counted, sample }) {
        numbers.merge(counted)
        if (place !== undefined) cpuSeconds[place] = (cpuSeconds[place] as number) + sample.cpuSeconds
        const own = samples.get(member)
        if (own) own.sample = sample
      },
      retire: () => void (samples.has(member) && samples.set(member, { ...samples.get(member), place: undefined })),
      leave: () => void samples.delete(member),
    }
    samples.set(member, { place })
    return member
  }

  /** Something that all have, added up. */
  function sum(figure: keyof Sample): number {
    return [...samples.values()].reduce((total, { sample }) => total + (sample?.[figure] ?? 0), 0)
  }

  /** Something of each that has a place, by its place. */
  function each(figure: keyof Sample): Map<number, number> {
    const figures = [...samples.values()].flatMap(({ place, sample }) =>
      place === undefined || sample === undefined ? [] : [[place, sample[figure]] as const],
    )
    return new Map(figures)
  }

  return { join, sum, each, cpuSeconds: cpuSeconds as readonly number[] }
}
