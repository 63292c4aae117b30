import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import type { TLSSocket } from 'node:tls'
import type { AdminPlace, Config } from '../config.ts'
import { READY_PATH } from '../http/metadata.ts'
import { VERSION } from '../version.ts'
import { hostInUrl, isWildcard } from '../web/address.ts'
import * as http from '../web/http.ts'
import { error, type Finding, note, ok, warning } from './finding.ts'

const TIMEOUT_MS = 3000

/** The URL at which this machine reaches a server that listens on this host. */
export function addressOf(host: string, port: number, isTls = false): string {
  return `${isTls ? 'https' : 'http'}://${isWildcard(host) ? 'localhost' : hostInUrl(host)}:${port}`
}

/**
 * Sends a GET request, over TCP or the Unix socket at `socketPath`. Not with `fetch`, which refuses some ports. Without an
 * answer `status` is undefined, and `code` is the code of the error; after a time-out `code` is undefined, too. With TLS it takes
 * any certificate, and returns its fingerprint: the server is on this machine, where its name is another, and no secret is sent.
 */
export async function ask(url: string, socketPath?: string) {
  const signal = AbortSignal.timeout(TIMEOUT_MS)
  const isTls = url.startsWith('https:')
  const { get } = isTls ? process.getBuiltinModule('node:https') : http
  try {
    const options = { rejectUnauthorized: false, ...(socketPath !== undefined && { socketPath }) }
    const request = get(url, { signal, agent: false, ...options })
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    const fingerprint = isTls ? (response.socket as TLSSocket).getPeerX509Certificate()?.fingerprint256 : undefined
    return { status: response.statusCode, body: await text(response), code: undefined, fingerprint }
  } catch (cause) {
    const code = signal.aborted ? undefined : String((cause as NodeJS.ErrnoException).code)
    return { status: undefined, body: '', code }
  }
}

/** The finding for an address without an answer. `refused` and `advice` are its texts if connections fail. */
function noAnswer(address: string, code: string | undefined, refused: string, advice: string): Finding[] {
  if (code !== undefined) return [error(`${refused} ${address} (${code}).`, advice)]
  const text = `The program that listens at ${address} did not answer within ${TIMEOUT_MS / 1000} s.`
  return [error(text, 'It is overloaded or hangs: its log may say why. If it does not, restart the program.')]
}

export async function checkServer(config: Pick<Config, 'HOST' | 'PORT'> & Partial<Config>): Promise<Finding[]> {
  const { HOST, PORT, TLS_CERT_FILE } = config
  if (PORT === 0) return [note('PORT is 0, so the port of the server is not known.')]
  const address = addressOf(HOST, PORT, TLS_CERT_FILE !== undefined)
  const answer = await ask(`${address}${READY_PATH}`)
  const { status } = answer
  if (status === undefined) {
    return noAnswer(address, answer.code, 'No server answers at', 'Start it. Its log says why it ended.')
  }
  if (status === 200) return [ok(`The server at ${address} is ready.`)]
  const why = 'Its log says why: docs/operations/troubleshooting.md, "503".'
  if (status === 503) return [error(`The server at ${address} is not ready.`, why)]
  return [error(`The program that answers at ${address} is not this server: ${status}.`, 'Check HOST and PORT.')]
}

const RUNNING_VERSION = /^token_server_build_info\{[^}]*\bversion="([^"]*)"/m

/** Checks whether the ops listener answers, and whether the running server has the version of this program. */
export async function checkOpsListener(
  { host, port }: NonNullable<Config['OPS_ADDRESS']>,
  isTls = false,
): Promise<Finding[]> {
  if (port === 0) return [note('OPS_ADDRESS has port 0, so its port is not known.')]
  const address = `${addressOf(host, port, isTls)}/metrics`
  const answer = await ask(address)
  if (answer.status === undefined) return noAnswer(address, answer.code, 'Nothing answers at', 'Check OPS_ADDRESS.')
  if (answer.status === 403)
    return [note('OPS_CLIENT_CA_FILE keeps the metrics, and so the running version, from doctor.')]
  const running = RUNNING_VERSION.exec(answer.body)?.[1]
  if (running === undefined)
    return [error(`The program that answers at ${address} is not this server.`, 'Check OPS_ADDRESS.')]
  if (running === VERSION) return [ok(`The running server has this version, ${VERSION}.`)]
  return [warning(`The running server is ${running}, and this program ${VERSION}.`, 'Restart it after an upgrade.')]
}

const LOGIN_FORM = 'data-login'

export async function checkAdminListener(place: AdminPlace, isTls = false): Promise<Finding[]> {
  const isSocket = 'socket' in place
  if (!isSocket && place.port === 0) return [note('ADMIN_ADDRESS has port 0, so its port is not known.')]
  const address = isSocket ? place.socket : addressOf(place.host, place.port, isTls)
  const answer = await (isSocket ? ask('http://localhost/login', address) : ask(`${address}/login`))
  if (answer.status === undefined) {
    const advice = 'If ADMIN_ADDRESS was set after the server had started, restart the server.'
    return noAnswer(address, answer.code, 'The admin listener does not answer at', advice)
  }
  if (answer.body.includes(LOGIN_FORM)) return [ok(`The admin listener answers at ${address}.`)]
  return [error(`The program that answers at ${address} is not this server's admin listener.`, 'Check ADMIN_ADDRESS.')]
}
