import Database from 'better-sqlite3'
import type { Test } from 'tap'
import { temporaryDatabase } from './temporary-database.ts'
import { createWorld } from './world.ts'

export const ID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

/** A world with two suites; its application is approved for `store` and has a token. */
export async function createWorldOfSuites(t: Test, options: Parameters<typeof createWorld>[1] = {}) {
  const world = await createWorld(t, options)
  const { app, administration, credentials } = world
  const store = await administration.registerSuite({ suiteId: 'store', name: 'Store API' })
  await administration.registerSuite({ suiteId: 'product-information', name: 'Product information API' })
  await administration.approve(credentials.client_id, 'store')
  const basic = `Basic ${btoa(`store:${store.clientSecret}`)}`

  /** Asks as the store suite, by HTTP Basic. */
  const introspect = (token: string) => world.post({ token }, { authorization: basic }, '/v1/oauth/introspect')

  /** Asks as a gateway before the store suite. */
  function verify(token: string | undefined, path = '/store') {
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
    return app.inject({ url: `/v1/oauth/verify${path}`, headers })
  }

  return { ...world, suiteSecret: store.clientSecret, basic, introspect, verify }
}

/** The same, with its store in a file, and another connection to it. */
export async function createWorldWithFile(t: Test, options?: Parameters<typeof createWorld>[1]) {
  const { file, env } = temporaryDatabase(t)
  const world = await createWorldOfSuites(t, { ...options, databaseUrl: env.DATABASE_URL })
  const other = new Database(file)
  t.teardown(() => other.close())
  return { ...world, file, other }
}

type World = Awaited<ReturnType<typeof createWorldOfSuites>>

/** Everything that makes a valid token invalid from the next check on, and the reason that the log gives. */
export const ENDINGS: Record<string, [end: (world: World, token: string) => unknown, reason: string]> = {
  'an expired token': [({ clock }) => (clock.time += 3_600_000), 'expired token'],
  'a revoked token': [
    ({ post, credentials }, token) => post({ ...credentials, token }, {}, '/v1/oauth/revoke'),
    'revoked token',
  ],
  'a token before a revoke-all': [
    ({ administration, credentials }) => administration.revokeAllTokens(credentials.client_id),
    'revoked token',
  ],
  'a token of a suspended application': [
    ({ administration, credentials }) => administration.suspend(credentials.client_id),
    'suspended application',
  ],
  'a token of a removed application': [
    ({ administration, credentials }) => administration.remove(credentials.client_id),
    'removed application',
  ],
  'a token of an application that was removed and registered again': [
    async ({ administration, credentials }) => {
      await administration.remove(credentials.client_id)
      await administration.register({ name: 'A', developerEmail: 'a@b.example', clientId: credentials.client_id })
    },
    'removed application',
  ],
}
