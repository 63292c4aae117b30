import { Command } from 'commander'
import { readConfig } from '../config.ts'
import { addressOf, ask } from '../doctor/listeners.ts'
import { OperatorError } from '../domain/operator-error.ts'
import { print, type Terminal, withJson } from './shared/terminal.ts'

/** `healthcheck`: asks the server of these settings whether it is ready; for containers without a shell. */
export function healthcheckCommand(terminal: Terminal): Command {
  const command = withJson(new Command('healthcheck')).description('ask the running server whether it is ready')
  return command.action(async (options) => {
    const { READY_PATH } = await import('../http/metadata.ts')
    const { HOST, PORT } = readConfig(terminal.env)
    if (PORT === 0) throw new OperatorError('PORT is 0, so nobody knows which port the server has: give it one.')
    const address = addressOf(HOST, PORT)
    const { status = 'no answer' } = await ask(`${address}${READY_PATH}`)
    if (status !== 200) throw new OperatorError(`The server at ${address} is not ready: ${status}.`)
    await print(terminal, options, { address, status: 'ready' }, 'The server is ready.')
  })
}
