import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { readConfig } from '../../src/config.ts'
import type { Event } from '../../src/domain/events.ts'
import { readCertificate } from '../../src/listener/certificate.ts'
import { openCertificates } from '../../src/server/certificates.ts'
import { run } from '../../src/server/serve.ts'
import { createTelemetry } from '../../src/server/telemetry.ts'
import { makeCertificate } from '../support/certificate.ts'
import { needs } from '../support/needs.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { until } from '../support/until.ts'

const DAY = 24 * 60 * 60_000

const skip = needs('openssl')

/** A folder of generations with a pair each, of which `current` is a link to one, as Kubernetes mounts a secret. */
function createMount(t: Test) {
  const folder = temporaryFolder(t)
  const link = join(folder, '..data')
  function generation(name: string): string {
    mkdirSync(join(folder, name))
    makeCertificate(join(folder, name))
    return name
  }
  /** Shows another generation. */
  function swap(name: string): void {
    symlinkSync(name, `${link}.new`)
    renameSync(`${link}.new`, link)
  }
  swap(generation('1'))
  const files = { certificate: join(link, 'localhost.crt'), key: join(link, 'localhost.key') }
  return { folder, files, generation, swap }
}

/** The certificate of a public port. Nothing is read but when the test says so. */
async function keep(t: Test, files: { certificate: string; key: string }, interval = 3_600_000) {
  const clock = { ahead: 0 }
  const events: Event[] = []
  const config = readConfig({ TLS_CERT_FILE: files.certificate, TLS_KEY_FILE: files.key })
  const observe = (event: Event) => void events.push(event)
  const certificates = await openCertificates(config, { observe, now: () => Date.now() + clock.ahead, interval })
  t.teardown(certificates.stop)
  const shown: string[] = []
  const keys: string[] = []
  certificates.public?.follow(({ files, ticketKeys }) => {
    shown.push(files.certificate)
    keys.push(ticketKeys.toString('hex'))
  })
  return { clock, events, shown, keys, certificates, reload: certificates.reload }
}

t.test(
  'Certificates: a pair that cannot be used is refused with the name of the file, and no part of a key',
  { skip },
  async (t) => {
    const folder = temporaryFolder(t)
    const [{ files: own }, { files: other }] = [makeCertificate(folder), makeCertificate(folder, { name: 'other' })]
    const write = (name: string, text: string) => {
      writeFileSync(join(folder, name), text)
      return join(folder, name)
    }
    const certificate = readFileSync(own.certificate, 'utf8')
    const weak = join(folder, 'weak.crt')
    const rsa = ['-newkey', 'rsa:1024', '-nodes', '-subj', '/CN=a', '-keyout', join(folder, 'weak.key'), '-out', weak]
    execFileSync('openssl', ['req', '-x509', ...rsa], { stdio: 'pipe' })
    const locked = join(folder, 'locked.key')
    execFileSync('openssl', ['pkey', '-in', own.key, '-aes256', '-passout', 'pass:SECRET', '-out', locked])
    const cases: [files: Parameters<typeof readCertificate>[0], message: RegExp][] = [
      [{ ...own, certificate: join(folder, 'none') }, /^Cannot read .*none: ENOENT.*\.$/],
      [{ ...own, certificate: own.key }, /localhost\.key does not contain a certificate in PEM format\.$/],
      [
        { ...own, key: own.certificate },
        /localhost\.crt does not contain a private key without a passphrase in PEM format\.$/,
      ],
      [{ ...own, key: locked }, /locked\.key does not contain a private key without a passphrase in PEM format\.$/],
      [{ ...own, key: write('half.key', readFileSync(own.key, 'utf8').slice(0, 100)) }, /half\.key does not contain a/],
      [{ ...own, key: other.key }, /^The key in .*other\.key does not fit the certificate in .*localhost\.crt: /],
      [
        { ...own, certificate: write('chain.crt', `${certificate}${certificate.slice(0, 200)}`) },
        /^Certificate 2 in .*chain\.crt /,
      ],
      [{ ...own, clientCa: own.key }, /localhost\.key does not contain a certificate/],
      [
        { ...own, clientCa: write('half.crt', certificate + certificate.slice(0, 200)) },
        /^Certificate 2 in .*half\.crt cannot be read: /,
      ],
      [
        { certificate: weak, key: join(folder, 'weak.key') },
        /^The certificate in .*weak\.crt cannot be used: .*key too small\.$/,
      ],
    ]
    const base64 = readFileSync(own.key, 'utf8').split('\n')[1] as string
    for (const [files, message] of cases) {
      const error = await readCertificate(files, Date.now()).catch((error) => error)
      t.match(error, { name: 'OperatorError', message })
      t.notOk(`${error.stack}${error.cause}`.includes(base64.slice(0, 20)))
    }
    await t.rejects(readCertificate(own, Date.now() + 91 * DAY), {
      message: /localhost\.crt has expired: it was valid until .* GMT\.$/,
    })
    await t.rejects(readCertificate(own, Date.now() - DAY), { message: /localhost\.crt is not valid before .* GMT\.$/ })
    await t.rejects(keep(t, { ...own, key: other.key }), { message: /does not fit/ }, 'also at the start')
  },
)

t.test('Certificates: when a link is swapped, the new pair is used within the interval', { skip }, async (t) => {
  const { files, generation, swap } = createMount(t)
  const { events, shown, certificates } = await keep(t, files, 5)
  const tls = certificates.tlsOf('public')
  const before = tls?.().secureContext
  swap(generation('2'))
  await until(() => shown.length === 2)
  t.equal(shown[1], readFileSync(files.certificate, 'utf8'))
  t.not(tls?.().secureContext, before)
  t.match(events, [{ type: 'certificate loaded', listener: 'public', endsAt: /^\d{4}-.*Z$/ }])
  t.equal(certificates.tlsOf('ops'), undefined)
})

t.test(
  'Certificates: a pair that cannot be used keeps the old one, and is reported once until it is mended',
  { skip },
  async (t) => {
    const { folder, files, generation, swap } = createMount(t)
    const { events, shown, certificates, reload } = await keep(t, files)
    generation('2')
    rmSync(join(folder, '2/localhost.key'))
    swap('2')
    for (let times = 0; times < 2; times++) await reload()
    const problem = /^Cannot read .*localhost\.key: ENOENT/
    t.match(events, [{ type: 'certificate refused', listener: 'public', problem }])
    t.equal(events.splice(0).length, 1)
    t.match(certificates.list(), [{ listener: 'public', problem }])
    t.equal(shown.length, 1)
    swap('1')
    await reload()
    t.match(events.splice(0), [{ type: 'certificate loaded' }], 'also if the old pair is back')
    t.match(certificates.list(), [{ problem: undefined }])
    await reload()
    t.strictSame(events, [])
  },
)

t.test('Certificates: while a renewal replaces one file after the other, nothing is reported', { skip }, async (t) => {
  const { folder, files } = createMount(t)
  const { events, shown } = await keep(t, files, 20)
  const next = makeCertificate(folder, { name: 'next' })
  const [certificate, key] = [files.certificate, files.key]
  renameSync(next.files.certificate, certificate)
  renameSync(next.files.key, key)
  await until(() => shown.length === 2)
  t.match(events, [{ type: 'certificate loaded' }])
  const other = makeCertificate(folder, { name: 'other' })
  renameSync(other.files.certificate, certificate)
  await until(() => events.length === 2)
  t.match(events[1], { type: 'certificate refused', problem: /does not fit/ }, 'but if it stays like this')
})

t.test(
  'Certificates: one that ends is reported once a day from 14 days before, and its end as a problem',
  { skip },
  async (t) => {
    const { files } = createMount(t)
    const { clock, events, reload } = await keep(t, files)
    const at = async (days: number) => {
      clock.ahead += days * DAY
      await reload()
      return events.splice(0)
    }
    t.strictSame(await at(75), [])
    t.match(await at(2), [{ type: 'certificate ends', listener: 'public', endsAt: /Z$/ }])
    t.strictSame(await at(0.5), [])
    t.match(await at(1), [{ type: 'certificate ends' }])
    t.match(await at(20), [{ type: 'certificate refused', problem: /has expired/ }, { type: 'certificate ends' }])
  },
)

t.test('Certificates: keys of tickets are replaced once a day, and not by a renewal', { skip }, async (t) => {
  const { files, generation, swap } = createMount(t)
  const { clock, keys, certificates, reload, events } = await keep(t, files)
  clock.ahead = DAY - 5000
  swap(generation('2'))
  await reload()
  t.equal(keys[1], keys[0])
  clock.ahead = DAY
  const before = certificates.tlsOf('public')?.()
  await reload()
  t.not(keys[2], keys[0])
  t.not(certificates.tlsOf('public')?.(), before)
  clock.ahead += DAY - 5000
  await reload()
  t.equal(keys.length, 3)
  const told = events.map(({ type }) => type)
  t.strictSame(told, ['certificate loaded'], 'nothing else is told')
})

t.test('Certificates: SIGHUP during a start that fails adds nothing to its error', async (t) => {
  const file = join(temporaryFolder(t), 'none')
  const config = readConfig({ TLS_CERT_FILE: file, TLS_KEY_FILE: file })
  const before = new Set(process.listeners('SIGHUP'))
  const started = run(() => t.fail() as never, createTelemetry('silent', { isTTY: false }), config)
  const reloads = process.listeners('SIGHUP').filter((listener) => !before.has(listener))
  t.equal(reloads.length, 1)
  t.teardown(() => process.removeListener('SIGHUP', reloads[0] as () => void))
  reloads[0]?.('SIGHUP')
  await t.rejects(started, { message: /^Cannot read .*none: / })
})
