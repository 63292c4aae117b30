import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import type { SecureContext, TLSSocket } from 'node:tls'
import { handleOf } from './pipeline.ts'

/** What a listener shows its clients. `asksForCertificate`: whether they may show one, too. */
export interface Tls {
  secureContext: SecureContext
  asksForCertificate: boolean
}

/**
 * Lets a server speak TLS, with what `current` returns for each new connection. The server gets the encrypted connection before
 * the handshake: so every limit and timeout for connections applies to handshakes, too.
 */
export function speakTls(server: Server, current: () => Tls): void {
  const { TLSSocket } = process.getBuiltinModule('node:tls')
  const emit: (name: string, ...values: unknown[]) => boolean = server.emit.bind(server)
  server.emit = (name: string, ...values: unknown[]): boolean => {
    if (name !== 'connection') return emit(name, ...values)
    const { secureContext, asksForCertificate } = current()
    const connection = new TLSSocket(values[0] as Socket, {
      isServer: true,
      secureContext,
      requestCert: asksForCertificate,
      rejectUnauthorized: false,
      ALPNProtocols: ['http/1.1'],
    })
    connection.disableRenegotiation()
    // An error after the handshake, which Node.js leaves to its own server.
    connection.on('_tlsError', () => connection.destroy())
    // After Node.js has begun to read, which the turns stop in a crowd.
    process.nextTick(() => emit(name, connection))
    return true
  }
}

/** Whether the handshake of a connection has not ended. */
export function isInHandshake(connection: Socket): boolean {
  return (connection as TLSSocket).alpnProtocol === null
}

/** Whether a client has shown a valid certificate of a trusted authority. */
export function isCertified(connection: Socket): boolean {
  // A resumed session has no error even if it has no certificate.
  const hasOne = (connection as TLSSocket).getPeerX509Certificate() !== undefined
  return hasOne && !handleOf(connection)?.verifyError?.()
}
