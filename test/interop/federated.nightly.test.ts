import { createHmac, createPublicKey } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { join } from 'node:path'
import { decodeJwt } from 'jose'
import t, { type Test } from 'tap'
import { CLIENTS, type ClientProgram } from '../support/contract-clients.ts'
import { needs } from '../support/needs.ts'
import { PLATFORMS, type Platform } from '../support/platforms.ts'
import { REAL_ISSUERS } from '../support/real-issuers.ts'
import { REGISTRATION_OPTIONS } from '../support/registration.ts'
import { runProgram } from '../support/run-program.ts'
import { preload, runJson, startServer } from '../support/spawn.ts'
import { temporaryDatabase } from '../support/temporary-database.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { until } from '../support/until.ts'
import { createSigner, forge, type Signer, sign, startIssuer } from '../support/workload-issuer.ts'

const AUDIENCE = 'https://token.example'
const HOURS = 24
/** When the issuers are away, and when they have new keys. */
const AWAY = 7
const ROTATIONS = [10, 16]

/** A clock that the test moves, of this process and of those with its environment. */
function moveClock(t: Test) {
  const file = join(temporaryFolder(t), 'offset')
  const { now } = Date
  let offset = 0
  const set = (hours: number) => {
    offset = hours * 3_600_000
    writeFileSync(file, String(offset))
  }
  set(0)
  t.intercept(Date, 'now', { value: () => now() + offset })
  const shift = `import { readFileSync } from 'node:fs'
    const { now } = Date
    Date.now = () => now() + Number(readFileSync('${file}', 'utf8'))`
  return { set, env: preload(shift) }
}

/** A server whose applications have no secrets, the issuers of these platforms, and a clock for all. */
async function startWorld(t: Test, names: string[]) {
  const clock = moveClock(t)
  const { env, folder } = temporaryDatabase(t)
  Object.assign(env, { PUBLIC_URL: AUDIENCE })
  const issuers: Record<string, Awaited<ReturnType<typeof startIssuer>>> = {}
  for (const name of names) issuers[name] = await startIssuer(t)
  const signers: Record<string, Signer> = {}
  /** Each issuer gets a new key instead of the one that it has. */
  async function rotate(kid: string): Promise<void> {
    for (const [name, { state }] of Object.entries(issuers)) {
      const signer = await createSigner(`${name}-${kid}`, PLATFORMS[name]?.algorithm ?? 'RS256')
      signers[name] = signer
      state.keys = [signer.jwk]
    }
  }
  await rotate('1')
  await runJson(['suites', 'register', 'store', '--name', 'Store', '--create'], { env })
  const certificates = join(folder, 'issuers.pem')
  writeFileSync(
    certificates,
    Object.values(issuers)
      .map((one) => readFileSync(one.certificateFile, 'utf8'))
      .join(''),
  )
  const server = await startServer(t, { ...env, ...clock.env, NODE_EXTRA_CA_CERTS: certificates })

  /** Registers an application for the workload of a platform. Resolves to its client id. */
  async function register(name: string): Promise<string> {
    const { subject, rule = {} } = PLATFORMS[name] as Platform
    const claims = Object.entries(rule).flatMap(([claim, value]) => ['--claim', `${claim}=${value}`])
    const options = ['--issuer', issuers[name]?.issuer as string, '--subject', subject, ...claims, '--suite', 'store']
    return (await runJson(['apps', 'register', ...REGISTRATION_OPTIONS.split(' '), ...options], { env })).client_id
  }

  /** The JWT of a workload, as its platform makes it now. */
  function jwt(name: string, claims: object = {}, header: object = {}): Promise<string> {
    const { lifetime, nbfBefore = 0, iatBefore = 0, ...platform } = PLATFORMS[name] as Platform
    const now = Math.floor(Date.now() / 1000)
    const times = { iat: now - iatBefore, nbf: now - nbfBefore, exp: now + lifetime }
    const all = { iss: issuers[name]?.issuer, aud: AUDIENCE, ...times, ...platform.claims, ...claims }
    return sign(signers[name] as Signer, all, { header: { ...platform.header, ...header } })
  }

  return { env, clock, issuers, signers, rotate, server, register, jwt }
}

/** Builds a client in a folder. Resolves to a function that runs it: it prints a token. */
async function prepare(folder: string, { file, text, build, command: [program = '', ...args] }: ClientProgram) {
  writeFileSync(join(folder, file), text)
  if (build) {
    const { status, err } = await runProgram(build[0] as string, build.slice(1), { cwd: folder })
    if (status !== 0) throw new Error(err)
  }
  return (env: NodeJS.ProcessEnv) => runProgram(program, args, { cwd: folder, env })
}

const missing = ['python3', 'go', 'javac', 'curl'].map((tool) => needs(tool)).find(Boolean)

t.test(
  'Federated credentials: clients that know nothing of JWTs get tokens for a day, also while the issuers are away, and after new keys',
  { skip: missing ?? false, timeout: 900_000 },
  async (t) => {
    const names = Object.keys(PLATFORMS)
    const { env, clock, issuers, rotate, server, register, jwt } = await startWorld(t, names)
    const folder = temporaryFolder(t)
    const runs = await Promise.all(Object.values(CLIENTS).map((client) => prepare(folder, client)))
    const workloads = await Promise.all(
      names.map(async (name, at) => ({
        name,
        id: await register(name),
        run: runs[at % runs.length] as (typeof runs)[0],
      })),
    )
    for (let hour = 1; hour <= HOURS; hour++) {
      clock.set(hour)
      if (ROTATIONS.includes(hour)) await rotate(String(hour))
      const answers = hour === AWAY ? { '*': (response: ServerResponse) => response.destroy() } : {}
      for (const { state } of Object.values(issuers)) state.answers = answers
      for (const { name, id, run } of workloads) {
        const file = join(folder, `${name}.jwt`)
        writeFileSync(file, await jwt(name), { mode: 0o600 })
        const { out, err } = await run({ AUTH_URL: server.address, CLIENT_ID: id, SECRET_FILE: file })
        t.equal(await server.statusOf('/v1/oauth/verify/store', out.trim()), 200, `${name}, hour ${hour}: ${err}`)
      }
    }
    t.equal(server.logged('token issued').length, HOURS * names.length)
    const away = server.logged('issuer keys not fetched').map(({ issuer }) => issuer)
    t.strictSame(new Set(away), new Set(Object.values(issuers).map(({ issuer }) => issuer)), 'they were away')
    for (const { id } of workloads) {
      t.match(await runJson(['secrets', 'list', id], { env }), [{ origin: 'federated' }], 'there is no secret')
    }
  },
)

/** What attackers send for a workload of Kubernetes, and what `why` says of it. */
async function attacksOn({ jwt, signers }: Awaited<ReturnType<typeof startWorld>>) {
  const name = 'kubernetes'
  const now = Math.floor(Date.now() / 1000)
  const [own, foreign] = [signers[name], signers.gitlab] as [Signer, Signer]
  const right = await jwt(name)
  const [header, claims] = right.split('.', 2).map((part) => JSON.parse(Buffer.from(part, 'base64url').toString()))
  const pem = createPublicKey({ key: own.jwk, format: 'jwk' }).export({ type: 'spki', format: 'pem' })
  const unsigned = forge({ ...header, alg: 'HS256' }, claims, '')
  const mac = createHmac('sha256', pem).update(unsigned.slice(0, -1)).digest('base64url')
  const attacks: Record<string, [jwt: string, reason: string, detail: RegExp]> = {
    'stolen from another workload': [
      await jwt(name, { sub: 'system:serviceaccount:shop:mail' }),
      'federated token mismatch',
      /^sub is "system:serviceaccount:shop:mail", not "system:serviceaccount:shop:orders"$/,
    ],
    'of another issuer, which another application trusts': [
      await jwt('gitlab'),
      'federated token mismatch',
      /^iss is "https:/,
    ],
    'for another audience': [
      await jwt(name, { aud: 'https://api.example' }),
      'federated token mismatch',
      /^aud is "https:\/\/api\.example", not "https:\/\/token\.example"$/,
    ],
    expired: [
      await jwt(name, { iat: now - 7200, nbf: now - 7200, exp: now - 3600 }),
      'federated token not valid now',
      /^exp is \S+, in the past$/,
    ],
    'not valid yet': [
      await jwt(name, { nbf: now + 3600 }),
      'federated token not valid now',
      /^nbf is \S+, in the future$/,
    ],
    'valid for a month': [
      await jwt(name, { exp: now + 30 * 86_400 }),
      'federated token not valid now',
      /more than a day$/,
    ],
    'signed with a foreign key': [
      await sign({ ...foreign, kid: own.kid }, claims, { header }),
      'federated token not trusted',
      /^its signature is wrong/,
    ],
    'signed with a foreign key of another id': [
      await sign(foreign, claims, { header: { ...header, kid: 'mine' } }),
      'federated token not trusted',
      /^its issuer has no key with the id "mine"$/,
    ],
    'alg: none': [forge({ ...header, alg: 'none' }, claims), 'federated token not trusted', /^alg is "none"/],
    'alg: none, without a signature': [
      forge({ ...header, alg: 'none' }, claims, ''),
      'federated token not trusted',
      /^alg is "none"/,
    ],
    'HS256 by the public key': [unsigned + mac, 'federated token not trusted', /^alg is "HS256"/],
    'another type': [
      await jwt(name, {}, { typ: 'logout+jwt' }),
      'federated token not trusted',
      /^typ is "logout\+jwt"/,
    ],
  }
  return { right, attacks }
}

t.test(
  'Federated credentials: a JWT that is stolen, foreign, forged or of another time is refused, and `why` says why',
  { timeout: 300_000 },
  async (t) => {
    const world = await startWorld(t, ['kubernetes', 'gitlab'])
    const { env, server, register } = world
    await register('gitlab')
    const { right, attacks } = await attacksOn(world)
    const ids: Record<string, string> = {}
    for (const attack of Object.keys(attacks)) ids[attack] = await register('kubernetes')
    for (const [attack, [forged]] of Object.entries(attacks)) {
      const client_id = ids[attack] as string
      const statuses = []
      for (const client_secret of [right, forged, forged, right])
        statuses.push(await server.issue({ client_id, client_secret }))
      t.strictSame(statuses, [200, 401, 401, 200], attack)
    }
    for (const [attack, [, reason, detail]] of Object.entries(attacks)) {
      type Refusals = { refusals: { reason: string; count: number; detail?: string | null }[] }
      let found: Refusals['refusals'] = []
      // Written every five seconds.
      await until(async () => {
        found = ((await runJson(['why', ids[attack] as string], { env })) as Refusals).refusals
        return found.length > 0
      })
      t.match(found, [{ reason, count: 2 }], attack)
      t.match(found[0]?.detail ?? '', detail, attack)
    }
  },
)

for (const [name, { needs: tools, start }] of Object.entries(REAL_ISSUERS)) {
  const skip = tools.map((tool) => needs(tool)).find(Boolean) ?? false
  t.test(
    `Federated credentials: a JWT of ${name} gets a token, and one for another subject does not`,
    { skip, timeout: 600_000 },
    async (t) => {
      const { jwt, certificateFile, jwksFile, audience } = await start(t, AUDIENCE)
      const { iss, sub } = decodeJwt(await jwt())
      const { env } = temporaryDatabase(t)
      Object.assign(env, { PUBLIC_URL: AUDIENCE })
      const server = await startServer(t, { ...env, ...(certificateFile && { NODE_EXTRA_CA_CERTS: certificateFile }) })
      const options = [
        ...['--issuer', String(iss), ...(audience ? ['--audience', audience] : [])],
        ...(jwksFile ? ['--jwks-file', jwksFile] : []),
      ]
      for (const [subject, status] of [
        [String(sub), 200],
        ['somebody:else', 401],
      ] as const) {
        const { client_id } = await runJson(['apps', 'register', ...REGISTRATION_OPTIONS.split(' ')], { env })
        await runJson(['federated', 'add', client_id, '--subject', subject, ...options], { env })
        t.equal(await server.issue({ client_id, client_secret: await jwt() }), status, subject)
      }
    },
  )
}
