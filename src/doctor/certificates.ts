import type { CertifiedListener } from '../domain/events.ts'
import { CERTIFICATE_ENDS_MS } from '../domain/statistics.ts'
import type { Clock } from '../domain/time.ts'
import { READY_PATH } from '../http/metadata.ts'
import { type CertificateFiles, readCertificate } from '../listener/certificate.ts'
import { checkSecretFile } from './access.ts'
import { error, ok, timeText, warning } from './finding.ts'
import { ask } from './listeners.ts'

/** What a listener answers to everyone. */
const PATHS = { public: READY_PATH, admin: '/login', ops: '/health/live' }

/**
 * Checks the certificate in these files, and whether the server at `url` shows it; without a URL only the files. Throws
 * OperatorError if the certificate cannot be used.
 */
export async function checkCertificate(listener: CertifiedListener, files: CertificateFiles, now: Clock, url?: string) {
  const { endsAt, fingerprint } = await readCertificate(files, now())
  const text = `The certificate in ${files.certificate} is valid until ${timeText(endsAt)}.`
  const prefix = listener === 'public' ? '' : `${listener.toUpperCase()}_`
  const findings = [endsAt - now() < CERTIFICATE_ENDS_MS ? warning(text, 'Renew it.') : ok(text)]
  findings.push(await checkSecretFile(`${prefix}TLS_KEY_FILE`, files.key))
  const { fingerprint: shown } = url === undefined ? {} : await ask(url + PATHS[listener])
  if (shown !== undefined && shown !== fingerprint) {
    const advice = 'Its log says why: "certificate refused". It reads the files every 5 seconds, and on SIGHUP.'
    findings.push(error(`The server at ${url} does not show the certificate in ${files.certificate}.`, advice))
  }
  return findings
}
