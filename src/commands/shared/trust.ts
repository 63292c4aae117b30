import { X509Certificate } from 'node:crypto'
import tls from 'node:tls'
import { OperatorError } from '../../domain/operator-error.ts'

/** Trusts servers whose certificates are by an authority in this file, too. Throws OperatorError. */
export function trust(file: string, certificates: string): void {
  try {
    new X509Certificate(certificates)
  } catch (cause) {
    throw new OperatorError(`${file} does not contain a certificate in PEM format.`, { cause })
  }
  if (!tls.setDefaultCACertificates) {
    throw new OperatorError(`Node.js ${process.versions.node} cannot add ${file}: set NODE_EXTRA_CA_CERTS to it.`)
  }
  tls.setDefaultCACertificates([...tls.getCACertificates(), certificates])
}
