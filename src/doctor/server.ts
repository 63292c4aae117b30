import type { Config } from '../config.ts'
import { READY_PATH } from '../http/health.ts'
import { addressOf, ask, hanging } from './ask.ts'
import { error, type Finding, note, ok } from './finding.ts'

/** Whether a server of these settings answers, and is ready. */
export async function examineServer({ HOST, PORT }: Pick<Config, 'HOST' | 'PORT'>): Promise<Finding[]> {
  if (PORT === 0) return [note('PORT is 0, so nobody knows which port the server has.')]
  const address = addressOf(HOST, PORT)
  const answer = await ask(`${address}${READY_PATH}`)
  const { status } = answer
  if (status === undefined) {
    if (answer.code === undefined) return [hanging(address)]
    return [error(`No server answers at ${address} (${answer.code}).`, 'Start it; its log has why it ended.')]
  }
  if (status === 200) return [ok(`The server at ${address} is ready.`)]
  if (status === 503)
    return [error(`The server at ${address} is not ready.`, 'Its log says why: docs/operations.md, "503".')]
  return [error(`What answers at ${address} is not this server: ${status}.`, 'Look at HOST and PORT.')]
}
