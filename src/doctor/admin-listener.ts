import type { AdminPlace } from '../config.ts'
import { type Answer, addressOf, ask, hanging, type Silence } from './ask.ts'
import { error, type Finding, note, ok } from './finding.ts'

/** An attribute found only on the console's login page. */
const LOGIN_FORM = 'data-login'

/** Whether the console answers where ADMIN_ADDRESS says. */
export async function examineAdminListener(place: AdminPlace): Promise<Finding[]> {
  if ('socket' in place) return judge(place.socket, await ask('http://localhost/login', place.socket))
  if (place.port === 0) return [note('ADMIN_ADDRESS has port 0, so nobody knows which port it is.')]
  const address = addressOf(place.host, place.port)
  return judge(address, await ask(`${address}/login`))
}

function judge(address: string, answer: Answer | Silence): Finding[] {
  if (answer.status === undefined) {
    if (answer.code === undefined) return [hanging(address)]
    const advice = 'If ADMIN_ADDRESS was set after the server had started, restart the server.'
    return [error(`The admin listener does not answer at ${address} (${answer.code}).`, advice)]
  }
  if (answer.body.includes(LOGIN_FORM)) return [ok(`The admin listener answers at ${address}.`)]
  return [error(`What answers at ${address} is not this server's admin listener.`, 'Look at ADMIN_ADDRESS.')]
}
