import { readConfig } from '../config.ts'
import { AdministrationError } from '../issuer/refusal.ts'
import type { Terminal } from './terminal.ts'

const TIMEOUT = 3000

/** `healthcheck`: asks the server of these settings whether it is ready; for containers without a shell. */
export async function healthcheck(terminal: Terminal): Promise<void> {
  const { HOST, PORT } = readConfig(terminal.env)
  const host = HOST === '0.0.0.0' || HOST === '::' ? 'localhost' : HOST
  const url = new URL(`http://${host.includes(':') ? `[${host}]` : host}:${PORT}/health/ready`)
  const answer = await fetch(url, { signal: AbortSignal.timeout(TIMEOUT) }).catch(() => undefined)
  if (!answer?.ok) throw new AdministrationError(`The server is not ready: ${answer?.status ?? 'no answer'}.`)
  terminal.stdout.write('The server is ready.\n')
}
