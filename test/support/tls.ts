import { mkdtempSync, rmSync } from 'node:fs'
import { connect, type NetConnectOpts, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect as connectByTls } from 'node:tls'
import t, { type Test } from 'tap'
import { createTls } from '../../src/listener/certificate.ts'
import type { Tls } from '../../src/listener/tls.ts'
import { makeCertificate } from './certificate.ts'
import { needs } from './needs.ts'

let made: { tls: Tls; ca: string } | undefined

/** One certificate for all tests of this process, of an authority: some clients refuse one that signs itself. */
function ownTls() {
  if (!made) {
    const folder = mkdtempSync(join(tmpdir(), 'token-server-tls-'))
    const ca = makeCertificate(folder, { name: 'ca' })
    const options = ['-CA', ca.files.certificate, '-CAkey', ca.files.key, '-extensions', 'v3_req']
    made = { tls: createTls(makeCertificate(folder, { options })), ca: ca.certificate }
    rmSync(folder, { recursive: true })
  }
  return made
}

const secured = new WeakSet<Test>()

/** A test of a rule that holds without TLS and with it. The servers and connections of the second test speak TLS. */
export function testBoth(rule: string, run: (t: Test) => unknown, { skip = false as string | false } = {}): void {
  t.test(rule, { skip }, async (t) => run(t))
  testByTls(`${rule} (by TLS)`, run, { skip })
}

/** A test whose servers speak TLS. */
export function testByTls(rule: string, run: (t: Test) => unknown, { skip = false as string | false } = {}): void {
  t.test(rule, { skip: skip || needs('openssl') }, async (t) => {
    secured.add(t)
    await run(t)
  })
}

/** The certificate of the authority of the servers of all tests in this process. */
export const ownCertificate = () => ownTls().ca

/** What the servers of a test show their clients; undefined if they speak plain HTTP. */
export function tlsOf(t: Test): (() => Tls) | undefined {
  return secured.has(t) ? () => ownTls().tls : undefined
}

/** A connection as the servers of a test expect it, and the event that says that it can be used. */
export function connectAs(t: Test, options: NetConnectOpts): { socket: Socket; event: string } {
  if (!secured.has(t)) return { socket: connect(options), event: 'connect' }
  const socket = connectByTls({ ...options, ca: ownTls().ca, servername: 'localhost' })
  return { socket, event: 'secureConnect' }
}
