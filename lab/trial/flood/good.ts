import type { Credentials } from '../../bench/world/checkout.ts'
import { verifyRequest } from '../../bench/world/requests.ts'
import { openClient, tokenRequest } from '../world/client.ts'

/** What good clients saw: how long they waited, in milliseconds, and answers other than 200. */
export interface Served {
  waits: number[]
  refused: string[]
}

const LOOPS = 6
const PAUSE_MS = 4

/**
 * Runs good clients for some seconds, with tokens and checks in turns. Half of them use a new connection for each request.
 * `header` is added to their token requests.
 */
export async function serveGood(
  port: number,
  {
    application,
    token,
    seconds,
    header = '',
  }: { application: Credentials; token: string; seconds: number; header?: string },
): Promise<Served> {
  const served: Served = { waits: [], refused: [] }
  const end = performance.now() + seconds * 1000
  const requests = [tokenRequest(application, header), verifyRequest(token)]

  async function loop(_: unknown, number: number): Promise<void> {
    let client = openClient(port)
    for (let turn = number; performance.now() < end; turn++) {
      const startedAt = performance.now()
      try {
        const status = await client.status(requests[turn % 2] as string)
        if (status !== 200) served.refused.push(String(status))
      } catch (error) {
        served.refused.push((error as Error).message)
      }
      served.waits.push(performance.now() - startedAt)
      if (number % 2 === 0) {
        client.close()
        client = openClient(port)
      }
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
    }
    client.close()
  }

  await Promise.all(Array.from({ length: LOOPS }, loop))
  return served
}

export function percentile(numbers: number[], percent: number): number {
  const sorted = numbers.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor((sorted.length * percent) / 100))] ?? Number.NaN
}
