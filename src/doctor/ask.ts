import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'

const TIMEOUT_MS = 3000

/** The address at which a server that listens here is reached from this machine. */
export function addressOf(host: string, port: number): string {
  const local = host === '0.0.0.0' || host === '::' ? 'localhost' : host
  return `http://${local.includes(':') ? `[${local}]` : local}:${port}`
}

export interface Answer {
  status: number
  body: string
}

/** Asks a server; not by `fetch`, which refuses some ports. Rejects where it does not answer in time. */
export async function ask(url: string): Promise<Answer> {
  const signal = AbortSignal.timeout(TIMEOUT_MS)
  const request = get(url, { signal, agent: false })
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  return { status: response.statusCode as number, body: await text(response) }
}
