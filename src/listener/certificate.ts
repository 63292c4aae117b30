import { createPrivateKey, type KeyObject, randomBytes, X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { OperatorError } from '../domain/operator-error.ts'
import { asSentence } from '../domain/text.ts'
import type { Tls } from './tls.ts'

/** Paths, or what these files contain. `clientCa`: clients may show a certificate of these authorities. */
export interface CertificateFiles {
  certificate: string
  key: string
  clientCa?: string | undefined
}

/** What such files contain, in PEM format, and what they say of the certificate of the server, which is their first. */
export interface Certificate extends ReturnType<typeof withTicketKeys> {
  endsAt: number
  fingerprint: string
}

/**
 * Reads a certificate and its key. Throws OperatorError, with a sentence that names the file, if they cannot be used now. Returns
 * `known` if the files still contain that.
 */
export async function readCertificate(files: CertificateFiles, now: number, known?: Certificate): Promise<Certificate> {
  const [certificate, key, clientCa] = await Promise.all([
    read(files.certificate),
    read(files.key),
    files.clientCa === undefined ? undefined : read(files.clientCa),
  ])
  const { files: before } = known ?? {}
  const isKnown = certificate === before?.certificate && key === before.key && clientCa === before.clientCa
  if (known && isKnown && now < known.endsAt) return known
  const [own] = certificatesIn(files.certificate, certificate) as [X509Certificate]
  if (clientCa !== undefined) certificatesIn(files.clientCa as string, clientCa)
  if (!own.checkPrivateKey(keyIn(files.key, key))) {
    const order = 'the certificate of the server must be the first in its file'
    throw new OperatorError(`The key in ${files.key} does not fit the certificate in ${files.certificate}: ${order}.`)
  }
  const [begin, end] = [Date.parse(own.validFrom), Date.parse(own.validTo)]
  const about = `The certificate in ${files.certificate}`
  if (now < begin) throw new OperatorError(`${about} is not valid before ${own.validFrom}.`)
  if (now >= end) throw new OperatorError(`${about} has expired: it was valid until ${own.validTo}.`)
  try {
    return {
      ...withTicketKeys({ certificate, key, clientCa }, now, known),
      endsAt: end,
      fingerprint: own.fingerprint256,
    }
  } catch (cause) {
    throw new OperatorError(`${about} cannot be used: ${asSentence((cause as Error).message)}`, { cause })
  }
}

/** What a listener shows, with keys for the tickets that resume sessions; by default new ones. */
export function withTicketKeys(
  files: CertificateFiles,
  now: number,
  { ticketKeys = randomBytes(48), keyedAt = now }: { ticketKeys?: Buffer; keyedAt?: number } = {},
) {
  return { files, ticketKeys, keyedAt, tls: createTls(files, ticketKeys) }
}

/** At least one certificate. Throws OperatorError, with a sentence that names the file, unless all that it contains can be read. */
export function certificatesIn(file: string, text: string): X509Certificate[] {
  const parts = text.split(/(?<=-----END [A-Z0-9 ]*CERTIFICATE-----)/)
  const certificates = parts.filter((part) => /-----(BEGIN|END) [A-Z0-9 ]*CERTIFICATE-----/.test(part))
  if (certificates.length === 0) throw new OperatorError(`${file} does not contain a certificate in PEM format.`)
  return certificates.map((certificate, index) => {
    try {
      return new X509Certificate(certificate)
    } catch (cause) {
      throw new OperatorError(`Certificate ${index + 1} in ${file} cannot be read: its PEM is damaged.`, { cause })
    }
  })
}

function keyIn(file: string, text: string): KeyObject {
  try {
    return createPrivateKey(text)
  } catch {
    // No cause, so that nothing of a key gets to the log.
    throw new OperatorError(`${file} does not contain a private key without a passphrase in PEM format.`)
  }
}

/** `ticketKeys`: processes with the same ones resume each other's sessions. By default random ones. */
export function createTls({ certificate, key, clientCa }: CertificateFiles, ticketKeys?: Buffer): Tls {
  const { createSecureContext } = process.getBuiltinModule('node:tls')
  const secureContext = createSecureContext({
    cert: certificate,
    key,
    // Not those of Node.js: only OPS_CLIENT_CA_FILE says whom to trust.
    ca: clientCa ?? [],
    minVersion: 'TLSv1.2',
    honorCipherOrder: true,
    sessionIdContext: 'token-server',
    // Otherwise a resumed session would let in a client whose authority is no longer trusted.
    ...(clientCa === undefined && { ticketKeys }),
  })
  return { secureContext, asksForCertificate: clientCa !== undefined }
}

async function read(file: string): Promise<string> {
  return readFile(file, 'utf8').catch((cause: Error) => {
    throw new OperatorError(`Cannot read ${file}: ${cause.message}.`, { cause })
  })
}
