import { CERTIFICATE_ENDS_MS } from '../domain/statistics.ts'
import type { Clock } from '../domain/time.ts'
import { type CertificateFiles, readCertificate } from '../listener/certificate.ts'
import { error, type Finding, ok, timeText, warning } from './finding.ts'
import { ask } from './listeners.ts'

/**
 * Checks the certificate in these files, and whether the server at `url` shows it; without a URL only the files. Throws
 * OperatorError if the certificate cannot be used.
 */
export async function checkCertificate(files: CertificateFiles, now: Clock, url?: string): Promise<Finding[]> {
  const { endsAt, fingerprint } = await readCertificate(files, now())
  const text = `The certificate in ${files.certificate} is valid until ${timeText(endsAt)}.`
  const findings = [endsAt - now() < CERTIFICATE_ENDS_MS ? warning(text, 'Renew it.') : ok(text)]
  const { fingerprint: shown } = url === undefined ? {} : await ask(url)
  if (shown !== undefined && shown !== fingerprint) {
    const advice = 'Its log says why: "certificate refused". It reads the files every 5 seconds, and on SIGHUP.'
    findings.push(error(`The server at ${url} does not show the certificate in ${files.certificate}.`, advice))
  }
  return findings
}
