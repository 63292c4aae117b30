import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import type { AdminPlace, Config } from '../config.ts'
import { hostInUrl, isWildcard } from '../domain/address.ts'
import { READY_PATH } from '../http/metadata.ts'
import { VERSION } from '../version.ts'
import { error, type Finding, note, ok, warning } from './finding.ts'

const TIMEOUT_MS = 3000

/** The address at which a server that listens here is reached from this machine. */
export function addressOf(host: string, port: number): string {
  return `http://${isWildcard(host) ? 'localhost' : hostInUrl(host)}:${port}`
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

/** What is wrong at an address that does not answer: `gone` and `advice` if nothing accepts connections there. */
function silent(address: string, { code }: Silence, gone: string, advice: string): Finding[] {
  if (code !== undefined) return [error(`${gone} ${address} (${code}).`, advice)]
  const text = `What listens at ${address} does not answer within ${TIMEOUT_MS / 1000} s.`
  return [error(text, 'It is overloaded, or it hangs: its log may say why. Else restart it.')]
}

/** Whether a server of these settings answers, and is ready. */
export async function examineServer({ HOST, PORT }: Pick<Config, 'HOST' | 'PORT'>): Promise<Finding[]> {
  if (PORT === 0) return [note('PORT is 0, so nobody knows which port the server has.')]
  const address = addressOf(HOST, PORT)
  const answer = await ask(`${address}${READY_PATH}`)
  const { status } = answer
  if (status === undefined) {
    return silent(address, answer, 'No server answers at', 'Start it; its log has why it ended.')
  }
  if (status === 200) return [ok(`The server at ${address} is ready.`)]
  if (status === 503)
    return [
      error(`The server at ${address} is not ready.`, 'Its log says why: docs/operations/troubleshooting.md, "503".'),
    ]
  return [error(`What answers at ${address} is not this server: ${status}.`, 'Look at HOST and PORT.')]
}

const RUNNING_VERSION = /^token_server_build_info\{[^}]*\bversion="([^"]*)"/m

/** Whether the listener for operators answers, and of which version the server is that runs. */
export async function examineOps({ host, port }: NonNullable<Config['OPS_ADDRESS']>): Promise<Finding[]> {
  if (port === 0) return [note('OPS_ADDRESS has port 0, so nobody knows which port it is.')]
  const address = `${addressOf(host, port)}/metrics`
  const answer = await ask(address)
  if (answer.status === undefined) return silent(address, answer, 'Nothing answers at', 'Look at OPS_ADDRESS.')
  const running = RUNNING_VERSION.exec(answer.body)?.[1]
  if (running === undefined) return [error(`What answers at ${address} is not this server.`, 'Look at OPS_ADDRESS.')]
  if (running === VERSION) return [ok(`The server that runs is of this version, ${VERSION}.`)]
  return [warning(`The server that runs is ${running}, and this program ${VERSION}.`, 'Restart it after an upgrade.')]
}

/** An attribute found only on the console's login page. */
const LOGIN_FORM = 'data-login'

/** Whether the console answers where ADMIN_ADDRESS says. */
export async function examineAdminListener(place: AdminPlace): Promise<Finding[]> {
  if ('socket' in place) return judgeConsole(place.socket, await ask('http://localhost/login', place.socket))
  if (place.port === 0) return [note('ADMIN_ADDRESS has port 0, so nobody knows which port it is.')]
  const address = addressOf(place.host, place.port)
  return judgeConsole(address, await ask(`${address}/login`))
}

function judgeConsole(address: string, answer: Answer | Silence): Finding[] {
  if (answer.status === undefined) {
    const advice = 'If ADMIN_ADDRESS was set after the server had started, restart the server.'
    return silent(address, answer, 'The admin listener does not answer at', advice)
  }
  if (answer.body.includes(LOGIN_FORM)) return [ok(`The admin listener answers at ${address}.`)]
  return [error(`What answers at ${address} is not this server's admin listener.`, 'Look at ADMIN_ADDRESS.')]
}
