import { connect, type Socket, type TcpNetConnectOpts } from 'node:net'
import { connect as connectByTls } from 'node:tls'
import { makeCertificate } from '../../../test/support/certificate.ts'

/** In the environment, which the processes of attackers inherit: the folder of the certificate. */
const FOLDER = 'TRIAL_TLS'

/** Lets every server that starts from now on speak TLS at all ports, and every client. */
export function speakTls(folder: string): void {
  makeCertificate(folder)
  Object.assign(process.env, { [FOLDER]: folder, NODE_TLS_REJECT_UNAUTHORIZED: '0', NODE_NO_WARNINGS: '1' })
}

export function tlsSettings(): Record<string, string> {
  const folder = process.env[FOLDER]
  if (folder === undefined) return {}
  const [certificate, key] = [`${folder}/localhost.crt`, `${folder}/localhost.key`]
  const prefixes = ['', 'ADMIN_', 'OPS_']
  return Object.fromEntries(
    prefixes.flatMap((prefix) => [
      [`${prefix}TLS_CERT_FILE`, certificate],
      [`${prefix}TLS_KEY_FILE`, key],
    ]),
  )
}

export const scheme = () => (process.env[FOLDER] === undefined ? 'http' : 'https')

/** A connection to a server under trial. What is written before the handshake is sent after it. */
export function dial(options: Omit<TcpNetConnectOpts, 'host'>): Socket {
  const all = { host: '127.0.0.1', ...options }
  return scheme() === 'http' ? connect(all) : connectByTls({ ...all, rejectUnauthorized: false })
}
