import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { Command } from 'commander'
import { readConfig } from '../config.ts'
import { OperatorError } from '../domain/operator-error.ts'
import { print, type Terminal, withJson } from './shared/terminal.ts'

const TIMEOUT_MS = 3000

/** `healthcheck`: asks the server of these settings whether it is ready; for containers without a shell. */
export function healthcheckCommand(terminal: Terminal): Command {
  const command = withJson(new Command('healthcheck')).description('ask the running server whether it is ready')
  return command.action(async (options) => {
    const { READY_PATH } = await import('../http/health.ts')
    const { HOST, PORT } = readConfig(terminal.env)
    if (PORT === 0) throw new OperatorError('PORT is 0, so nobody knows which port the server has: give it one.')
    const host = HOST === '0.0.0.0' || HOST === '::' ? 'localhost' : HOST
    const url = new URL(`http://${host.includes(':') ? `[${host}]` : host}:${PORT}${READY_PATH}`)
    const status = await statusOf(url).catch(() => 'no answer')
    if (status !== 200) throw new OperatorError(`The server at ${url.origin} is not ready: ${status}.`)
    await print(terminal, options, { address: url.origin, status: 'ready' }, 'The server is ready.')
  })
}

// Not `fetch`, which refuses some ports.
async function statusOf(url: URL): Promise<number | undefined> {
  const request = get(url, { signal: AbortSignal.timeout(TIMEOUT_MS), agent: false })
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  response.resume()
  return response.statusCode
}
