import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { readConfig } from '../config.ts'
import { AdministrationError } from '../domain/refusal.ts'
import type { Terminal } from './shared/terminal.ts'

const TIMEOUT = 3000

/** `healthcheck`: asks the server of these settings whether it is ready; for containers without a shell. */
export async function healthcheck(terminal: Terminal): Promise<void> {
  const { HOST, PORT } = readConfig(terminal.env)
  const host = HOST === '0.0.0.0' || HOST === '::' ? 'localhost' : HOST
  const url = new URL(`http://${host.includes(':') ? `[${host}]` : host}:${PORT}/health/ready`)
  const status = await statusOf(url).catch(() => 'no answer')
  if (status !== 200) throw new AdministrationError(`The server is not ready: ${status}.`)
  terminal.stdout.write('The server is ready.\n')
}

// Not `fetch`, which refuses some ports.
async function statusOf(url: URL): Promise<number | undefined> {
  const request = get(url, { signal: AbortSignal.timeout(TIMEOUT), agent: false })
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  response.resume()
  return response.statusCode
}
