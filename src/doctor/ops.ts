import type { Config } from '../config.ts'
import { VERSION } from '../version.ts'
import { addressOf, ask, hanging } from './ask.ts'
import { error, type Finding, note, ok, warning } from './finding.ts'

const RUNNING_VERSION = /^token_server_build_info\{[^}]*\bversion="([^"]*)"/m

/** Whether the listener for operators answers, and of which version the server is that runs. */
export async function examineOps({ host, port }: NonNullable<Config['OPS_ADDRESS']>): Promise<Finding[]> {
  if (port === 0) return [note('OPS_ADDRESS has port 0, so nobody knows which port it is.')]
  const address = `${addressOf(host, port)}/metrics`
  const answer = await ask(address)
  if (answer.status === undefined) {
    if (answer.code === undefined) return [hanging(address)]
    return [error(`Nothing answers at ${address} (${answer.code}).`, 'Look at OPS_ADDRESS.')]
  }
  const running = RUNNING_VERSION.exec(answer.body)?.[1]
  if (running === undefined) return [error(`What answers at ${address} is not this server.`, 'Look at OPS_ADDRESS.')]
  if (running === VERSION) return [ok(`The server that runs is of this version, ${VERSION}.`)]
  return [warning(`The server that runs is ${running}, and this program ${VERSION}.`, 'Restart it after an upgrade.')]
}
