import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const CURVE = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1']

/** The files of an own certificate for `localhost` and 127.0.0.1, and what they contain. */
export function makeCertificate(
  folder: string,
  { name = 'localhost', days = 90, keys = CURVE, options = [] as string[] } = {},
) {
  const [certificate, key] = [join(folder, `${name}.crt`), join(folder, `${name}.key`)]
  const subject = ['-subj', `/CN=${name}`, '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1', '-days', `${days}`]
  const files = ['-keyout', key, '-out', certificate]
  execFileSync('openssl', ['req', '-x509', '-nodes', ...keys, ...subject, ...options, ...files], { stdio: 'pipe' })
  return { files: { certificate, key }, certificate: readFileSync(certificate, 'utf8'), key: readFileSync(key, 'utf8') }
}
