import { channel } from 'node:diagnostics_channel'
import type {
  FastifyInstance,
  FastifySchemaCompiler,
  FastifySerializerCompiler,
  InjectOptions,
  RouteOptions,
} from 'fastify'
import { pino } from 'pino'
import type { Test } from 'tap'
import { buildAdminApp } from '../../src/admin/app.ts'
import type { AdminContext } from '../../src/admin/context.ts'
import { listenForAdmin } from '../../src/admin/listener.ts'
import { type AdminServer, createAdminServer } from '../../src/admin/server.ts'
import { createAdministration } from '../../src/administration/administration.ts'
import { findTrouble } from '../../src/administration/refusals.ts'
import { countStates } from '../../src/administration/search.ts'
import { createSignIn } from '../../src/administration/sign-in.ts'
import { usageOfAll } from '../../src/administration/usage.ts'
import { readConfig } from '../../src/config.ts'
import type { Author } from '../../src/domain/audit-event.ts'
import type { Event, Observer } from '../../src/domain/events.ts'
import type { Tls } from '../../src/listener/tls.ts'
import { describe } from '../../src/server/admin.ts'
import { openStore } from '../../src/store/open.ts'
import { createAuditLog } from '../../src/telemetry/audit-log.ts'
import { filling } from './registration.ts'
import { statisticsOf } from './statistics.ts'
import { migratedDatabase } from './temporary-database.ts'
import { tlsOf } from './tls.ts'
import { START } from './world.ts'

const DAY = 24 * 60 * 60_000

/** The author of the test data. */
const TESTER: Author = { actor: 'tester', origin: 'command line', remoteAddress: 'machine' }

/** `as`: whose admin key to send; `json`: the body, sent as JSON. */
export type Asked = Omit<InjectOptions, 'url'> & { as?: 'admin' | 'viewer'; json?: unknown }

/**
 * An admin listener with its own store, clock and log, and two operators: anna, an admin, and viktor, a viewer. Their admin
 * keys end in 30 days. `DATABASE_URL`: from `createEnv` of a TestedStore.
 */
export async function createAdminWorld(
  t: Test,
  {
    DATABASE_URL: url = migratedDatabase(t).env.DATABASE_URL,
    handOverUrl,
    onlyProvider,
    ...given
  }: { DATABASE_URL?: string; handOverUrl?: string; onlyProvider?: boolean } & Partial<
    Pick<AdminContext, 'adminUrl' | 'boundHost' | 'trustProxy' | 'howToSignIn' | 'provider'>
  > = {},
) {
  const clock = { time: START }
  const now = () => clock.time
  const config = readConfig({ DATABASE_URL: url })
  const store = await openStore(config.DATABASE_URL, { lockTimeout: 2000 })
  const events: Event[] = []
  const lines: string[] = []
  const log = createAuditLog(pino({ level: 'trace' }, { write: (line) => lines.push(line) }))
  const observe: Observer = (event) => {
    events.push(event)
    log(event)
  }
  /** Tests may change these. */
  const statistics = { ...statisticsOf() }
  const context: AdminContext = {
    now,
    observe,
    administration: (author, conditions) =>
      createAdministration({ store, now, observe, author, conditions, handOverUrl, publicUrl: config.PUBLIC_URL }),
    signIn: createSignIn({ store, now, observe, ...(onlyProvider && { onlyProvider }) }),
    provider: undefined,
    statistics: {
      read: async () => statistics,
      readTrouble: () => findTrouble({ store, now }),
      outages: () => statistics.outages,
      readUsage: (period) => usageOfAll({ store, now }, period),
      readStates: () => countStates({ store, now }),
    },
    about: describe(config, START),
    adminUrl: undefined,
    boundHost: undefined,
    trustProxy: false,
    howToSignIn: undefined,
    ...given,
  }
  /** For test data: its events are not logged. */
  const administration = filling(createAdministration({ store, now, observe: () => {}, author: TESTER }))
  const keys = { admin: await addOperator('anna', 'admin'), viewer: await addOperator('viktor', 'viewer') }
  const { app, routes } = await buildWithRoutes(context, tlsOf(t))
  t.teardown(async () => {
    await app.close()
    await store.close()
  })

  async function addOperator(name: string, role: 'admin' | 'viewer'): Promise<string> {
    await administration.operators.add(name, role)
    return (await administration.operators.addKey(name, 30 * DAY)).adminKey
  }

  /** Sends a request without using the network. */
  async function ask(url: string, { as, json, headers, ...options }: Asked = {}) {
    const authorization = as && { authorization: `Bearer ${keys[as]}` }
    const type = json !== undefined && { 'content-type': 'application/json' }
    const body = json !== undefined && { payload: JSON.stringify(json) }
    return app.inject({ ...options, ...body, url, headers: { ...authorization, ...type, ...headers } })
  }

  /** Listens on a free port of 127.0.0.1. Resolves to the address. */
  const listen = () => listenForAdmin(app.server, { host: '127.0.0.1', port: 0 }, tlsOf(t) && 'https')

  return { app, routes, ask, listen, keys, administration, context, store, clock, events, lines, statistics }
}

/** What an app compiles of its schemas. Those of the first app serve all: compiling takes longest of building one. */
let compilers: { validator: FastifySchemaCompiler<unknown>; serializer: FastifySerializerCompiler<unknown> } | undefined

/** Makes each thing once, by the text of its schema. */
function once<Part extends { schema: unknown }, Made>(make: (part: Part) => Made): (part: Part) => Made {
  const made = new Map<string, Made>()
  return (part) => {
    const text = JSON.stringify(part.schema)
    const one = made.get(text) ?? make(part)
    made.set(text, one)
    return one
  }
}

/** Builds an app and collects its routes; `path`: one that matches the pattern `url`. */
async function buildWithRoutes(context: AdminContext, tls: (() => Tls) | undefined) {
  const routes: { method: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'; url: string; path: string }[] = []
  let api: FastifyInstance | undefined
  function collect(this: FastifyInstance, { url, method, schema }: RouteOptions) {
    if (schema) api = this
    const path = url.replace(/:\w+/g, 'x').replace('*', 'console.css')
    for (const one of [method].flat()) routes.push({ method: one as (typeof routes)[number]['method'], url, path })
  }
  const watch = (message: unknown) => {
    const { fastify } = message as { fastify: FastifyInstance }
    fastify.addHook('onRoute', collect)
    if (compilers) fastify.setValidatorCompiler(compilers.validator).setSerializerCompiler(compilers.serializer)
  }
  const created = channel('fastify.initialization')
  created.subscribe(watch)
  const server: AdminServer = createAdminServer(() => building, context.observe, tls)
  const building = buildAdminApp(context, server)
  created.unsubscribe(watch)
  const app = await building
  await app.ready()
  if (api?.validatorCompiler && api.serializerCompiler)
    compilers ??= { validator: once(api.validatorCompiler), serializer: once(api.serializerCompiler) }
  return { app, routes }
}
