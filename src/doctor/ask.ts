import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import { hostInUrl } from '../domain/address.ts'
import { error, type Finding } from './finding.ts'

const TIMEOUT_MS = 3000

/** The address at which a server that listens here is reached from this machine. */
export function addressOf(host: string, port: number): string {
  const local = host === '0.0.0.0' || host === '::' ? 'localhost' : host
  return `http://${hostInUrl(local)}:${port}`
}

export interface Answer {
  status: number
  body: string
}

/** Nobody answers: the code of the error; undefined: somebody listens, and has not answered in time. */
export interface Silence {
  status?: never
  code: string | undefined
}

/** Asks a server, over TCP or the Unix socket at `socketPath`; not by `fetch`, which refuses some ports. */
export async function ask(url: string, socketPath?: string): Promise<Answer | Silence> {
  const signal = AbortSignal.timeout(TIMEOUT_MS)
  try {
    const request = get(url, { signal, agent: false, ...(socketPath !== undefined && { socketPath }) })
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    return { status: response.statusCode as number, body: await text(response) }
  } catch (cause) {
    return { code: signal.aborted ? undefined : String((cause as NodeJS.ErrnoException).code) }
  }
}

/** That what is at an address accepts connections, and no more. */
export function hanging(address: string): Finding {
  const text = `What listens at ${address} does not answer within ${TIMEOUT_MS / 1000} s.`
  return error(text, 'It is overloaded, or it hangs: its log may say why. Else restart it.')
}
