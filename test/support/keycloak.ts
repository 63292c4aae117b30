import { spawn } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { freePort } from './free-port.ts'
import { runProgram } from './run-program.ts'
import { temporaryFolder } from './temporary-folder.ts'

/** The version that the bench compares with. */
const POM = readFileSync(join(import.meta.dirname, '../../lab/bench/servers/java/pom.xml'), 'utf8')
const [, VERSION] = /<keycloak.version>(.+)<\/keycloak.version>/.exec(POM) ?? []

export const PASSWORD = 'A password & more'

/**
 * Starts Keycloak, from Maven's repository, with this realm and the administrator `boss`, and resolves to its ports: it answers later.
 * It speaks TLS only with a certificate.
 */
export async function startKeycloak(t: Test, realm: object, files?: { certificate: string; key: string }) {
  const folder = temporaryFolder(t)
  const artifact = `-Dartifact=org.keycloak:keycloak-quarkus-dist:${VERSION}:zip`
  const unpack = ['org.apache.maven.plugins:maven-dependency-plugin:3.10.0:unpack', artifact]
  const { out } = await runProgram('mvn', ['-q', '-B', ...unpack, `-DoutputDirectory=${folder}`], { cwd: folder })
  const name = readdirSync(folder).find((name) => name.startsWith('keycloak-'))
  if (!name) throw new Error(`Maven has not unpacked Keycloak: ${out}`)
  const home = join(folder, name)
  mkdirSync(join(home, 'data/import'), { recursive: true })
  writeFileSync(join(home, 'data/import/realm.json'), JSON.stringify(realm))
  const [port, tlsPort] = [await freePort(), await freePort()]
  const admin = { KC_BOOTSTRAP_ADMIN_USERNAME: 'boss', KC_BOOTSTRAP_ADMIN_PASSWORD: PASSWORD }
  const certificate = files && {
    KC_HTTPS_CERTIFICATE_FILE: files.certificate,
    KC_HTTPS_CERTIFICATE_KEY_FILE: files.key,
    KC_HTTPS_PORT: String(tlsPort),
  }
  const options = ['--http-host=127.0.0.1', `--http-port=${port}`, '--import-realm']
  const child = spawn(join(home, 'bin/kc.sh'), ['start-dev', ...options], {
    env: { ...process.env, ...admin, ...certificate },
    stdio: 'ignore',
    // Its script starts Java: both end.
    detached: true,
  })
  t.teardown(() => process.kill(-(child.pid as number), 'SIGKILL'))
  return { port, tlsPort }
}
