import tls from 'node:tls'
import { OperatorError } from '../../domain/operator-error.ts'
import { certificatesIn } from '../../listener/certificate.ts'

/** Trusts servers whose certificates are by an authority in this file, too. Throws OperatorError. */
export function trust(file: string, certificates: string): void {
  certificatesIn(file, certificates)
  if (!tls.setDefaultCACertificates) {
    throw new OperatorError(`Node.js ${process.versions.node} cannot add ${file}: set NODE_EXTRA_CA_CERTS to it.`)
  }
  tls.setDefaultCACertificates([...tls.getCACertificates(), certificates])
}
