import Database from 'better-sqlite3'
import { pino } from 'pino'
import type { Test } from 'tap'
import { type Administration, createAdministration } from '../../src/administration/administration.ts'
import type { Registration } from '../../src/administration/applications.ts'
import type { Wanted } from '../../src/administration/apply-plan.ts'
import { jsonNamed } from '../../src/administration/rules.ts'
import type { SeedStep } from '../../src/administration/seed.ts'
import type { SuiteRegistration } from '../../src/administration/suites.ts'
import { readConfig } from '../../src/config.ts'
import type { ApplicationKey } from '../../src/domain/application.ts'
import type { Event } from '../../src/domain/events.ts'
import { OperatorError } from '../../src/domain/operator-error.ts'
import type { Later } from '../../src/http/wire/late-answers.ts'
import { buildServer } from '../../src/server/listen.ts'
import { openStore } from '../../src/store/open.ts'
import { createAuditLog } from '../../src/telemetry/audit-log.ts'
import { AUTHOR } from './on.ts'
import { filling } from './registration.ts'
import { migratedDatabase } from './temporary-database.ts'
import { tlsOf } from './tls.ts'

/** A moment to begin at: 13 digits, like every time in the next 250 years. */
export const START = 1_800_000_000_000

export const ID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

/** Where the clients of a world find its server. */
export const PUBLIC_URL = 'https://token.example'

/** An app with its own store and clock, what it logged, and one application that may ask for tokens. */
export async function createWorld(
  t: Test,
  {
    databaseUrl = migratedDatabase(t).env.DATABASE_URL,
    publicUrl = PUBLIC_URL,
    lockTimeout = 2000,
    trustProxy = false as false | string[],
    failureLimit = true,
    tokenQuota = Infinity,
    quotaIsReportOnly = false,
    connectionLimit = Infinity,
    logDetails = false,
    acceptsBasic = false,
    acceptsJwt = false,
    introspectionUrl = undefined as string | undefined,
    docsUrl = undefined as string | undefined,
    handsOver = false,
    counts = false,
    requestTimeout = 10_000,
    tls = tlsOf(t),
    later = ((end, _delay, socket) => void setImmediate(end, socket)) as Later,
  } = {},
) {
  /** `monotonic` is the clock that nobody sets. */
  const clock = { time: START, monotonic: 0 }
  const now = () => clock.time
  const config = {
    ...readConfig({ DATABASE_URL: databaseUrl, PUBLIC_URL: publicUrl }),
    TRUST_PROXY: trustProxy,
    FAILURE_LIMIT: failureLimit,
    TOKEN_QUOTA: { tokens: tokenQuota, isReportOnly: quotaIsReportOnly },
    CONNECTION_LIMIT: connectionLimit,
    CLIENT_AUTHENTICATION: `body${acceptsBasic ? ',basic' : ''}${acceptsJwt ? ',jwt' : ''}`,
    INTROSPECTION_URL: introspectionUrl,
    DOCS_URL: docsUrl,
    HANDOVER: handsOver,
  }
  const store = await openStore(config.DATABASE_URL, { lockTimeout })
  const lines: string[] = []
  const log = createAuditLog(pino({ level: 'trace' }, { write: (line) => lines.push(line) }))
  const logged = () => lines.map((line) => JSON.parse(line))
  /** What is only counted. */
  const measured: Event[] = []
  const measure = counts ? (event: Event) => measured.push(event) : undefined
  const telemetry = { observe: log, observeDetails: logDetails ? log : undefined, measure }
  const times = { now, monotonic: () => clock.monotonic, requestTimeout, later, tls }
  const { app, issuer, usage, refusals } = await buildServer(store, telemetry, config, times)
  t.teardown(async () => {
    await app.close()
    await store.close()
  })

  /** What operators changed, apart from the log of the requests. */
  const changes: Event[] = []
  const observe = (event: Event) => changes.push(event)
  const handOverUrl = `${PUBLIC_URL}/hand-over`
  const administration = flat(createAdministration({ store, now, observe, author: AUTHOR, handOverUrl }))
  const registration = { name: 'Störe ✓', developerEmail: 'developer@partner.example' }
  const { clientId, clientSecret } = await administration.register(registration)
  const credentials = { grant_type: 'client_credentials', client_id: clientId, client_secret: clientSecret as string }

  /** Sends a form as a client does; a text goes as it is. */
  function post(
    form: Record<string, string> | string = credentials,
    headers: Record<string, string> = {},
    url = '/v1/oauth/accesstoken',
  ) {
    return app.inject({
      method: 'POST',
      url,
      headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
      payload: typeof form === 'string' ? form : new URLSearchParams(form).toString(),
    })
  }

  /** Stores what was counted, and resolves to what operators are told of it. */
  async function flushUsage(): Promise<Event[]> {
    const told: Event[] = []
    await issuer.flushUsage((event) => told.push(event))
    await usage.flush(store)
    return told
  }

  /** Stores what was refused. */
  const flushRefusals = () => refusals.flush(store)

  /** An access token of the application. */
  const token = async (): Promise<string> => (await post()).json().access_token

  const asked = { lines, logged, measured, changes, credentials, post, token, flushUsage, flushRefusals }
  return { app, store, issuer, administration, clock, ...asked }
}

/** A world with two suites; its application is approved for `store` and has a token. */
export async function createWorldOfSuites(t: Test, options: Parameters<typeof createWorld>[1] = {}) {
  const world = await createWorld(t, options)
  const { app, administration, credentials } = world
  const store = await administration.registerSuite({ suiteId: 'store', name: 'Store API' })
  const other = await administration.registerSuite({ suiteId: 'product-information', name: 'Product information API' })
  await administration.approve(credentials.client_id, 'store')
  const basic = `Basic ${btoa(`store:${store.clientSecret}`)}`

  /** Asks as the store suite, by HTTP Basic. */
  const introspect = (token: string) => world.post({ token }, { authorization: basic }, '/v1/oauth/introspect')

  /** Asks as a gateway before the store suite. */
  function verify(token: string | undefined, path = '/store') {
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
    return app.inject({ url: `/v1/oauth/verify${path}`, headers })
  }

  return { ...world, suiteSecret: store.clientSecret, otherSecret: other.clientSecret, basic, introspect, verify }
}

/** The same, with its store in a file, and another connection to it. */
export async function createWorldWithFile(t: Test, options?: Parameters<typeof createWorld>[1]) {
  const { file, env } = migratedDatabase(t)
  const world = await createWorldOfSuites(t, { ...options, databaseUrl: env.DATABASE_URL })
  const other = new Database(file)
  t.teardown(() => other.close())
  return { ...world, file, other }
}

type WorldOfSuites = Awaited<ReturnType<typeof createWorldOfSuites>>

const byOperator =
  (action: 'revokeAllTokens' | 'suspend' | 'remove') =>
  ({ administration, credentials }: WorldOfSuites): Promise<unknown> =>
    administration[action](credentials.client_id)

/** Everything that makes a valid token invalid from the next check on, and the reason that the log gives. */
export const ENDINGS: Record<string, [end: (world: WorldOfSuites, token: string) => unknown, reason: string]> = {
  'an expired token': [({ clock }) => (clock.time += 3_600_000), 'expired token'],
  'a revoked token': [
    ({ post, credentials }, token) => post({ ...credentials, token }, {}, '/v1/oauth/revoke'),
    'revoked token',
  ],
  'a token before a revoke-all': [byOperator('revokeAllTokens'), 'revoked token'],
  'a token of a suspended application': [byOperator('suspend'), 'suspended application'],
  'a token of a removed application': [byOperator('remove'), 'removed application'],
  'a token of an application that was removed and registered again': [
    async ({ administration, credentials }) => {
      await administration.remove(credentials.client_id)
      await administration.register({ clientId: credentials.client_id })
    },
    'removed application',
  ],
}

export interface Seeds {
  suites: SuiteRegistration[]
  applications: Registration[]
}

/** A parsed seed file with these entries. */
export function wantedOf({ suites, applications }: Seeds): Wanted {
  const refuse = (problems: unknown[]) => new OperatorError(JSON.stringify(problems))
  return { suites: suites.map(jsonNamed), applications: applications.map(jsonNamed), refuse }
}

/** Registers what is missing of a seed, to the end. */
async function seedAll({ plan, steps }: Administration['seed'], seeds: Seeds) {
  const all: Omit<SeedStep, 'register'> = { suites: [], applications: [] }
  for await (const { suites, applications, register } of steps((await plan(wantedOf(seeds))).added)) {
    const refused = new Set(await register())
    all.suites.push(...suites.filter(({ suiteId }) => !refused.has(suiteId)))
    all.applications.push(...applications.filter(({ clientId }) => !refused.has(clientId)))
  }
  return all
}

/** The administration under one name per action, as tests call it. */
function flat(administration: Administration) {
  const { suites, secrets, handOvers, operators, seed, why } = administration
  return {
    ...filling(administration).applications,
    seed: (seeds: Seeds) => seedAll(seed, seeds),
    registerSuite: suites.register,
    listSuites: suites.list,
    listPage: suites.listPage,
    browseSuites: suites.browse,
    countApproved: suites.countApproved,
    showSuite: suites.show,
    updateSuite: suites.update,
    removeSuite: suites.remove,
    listSecrets: secrets.list,
    rotateSecret: secrets.rotate,
    revokeSecret: secrets.revoke,
    handOvers,
    operators,
    why,
  }
}

/** A key as SQLite gives them, for tests in which no application has it. */
export function keyOf(number: number): ApplicationKey {
  return number as unknown as ApplicationKey
}
