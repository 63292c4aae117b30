import type { Test } from 'tap'
import { register, startServer } from '../spawn.ts'
import { until } from '../until.ts'
import { startPair } from './postgres.ts'

type Credentials = Awaited<ReturnType<typeof register>>

export type TestNode = Awaited<ReturnType<typeof startNode>>

/** An application on a database, and how to start servers on it that know it. */
export async function createCluster(t: Test, url: string) {
  const env = { DATABASE_URL: url }
  let registered: Credentials | undefined
  // A command waits two seconds for the database, which is little on a busy machine.
  await until(async () => {
    registered = await register(env).catch(() => undefined)
    return registered !== undefined
  })
  const credentials = registered as unknown as Credentials
  return {
    env,
    credentials,
    startNode: (more: NodeJS.ProcessEnv = {}) => startNode(t, { ...env, ...more }, credentials),
  }
}

/** A primary that waits for its standby, a database on it that is named by both, and an application. */
export async function createPairCluster(t: Test) {
  const pair = await startPair(t)
  const url = await pair.primary.createDatabase()
  const role = new URL(url).username
  return {
    ...(await createCluster(t, pair.both(url))),
    pair,
    role,
    /** The commits that wait for the standby, of all programs. */
    waiting: () =>
      pair.primary.query("SELECT pid FROM pg_stat_activity WHERE usename = $1 AND wait_event = 'SyncRep'", [role]),
  }
}

/** A server, and what the application asks it, each time on a connection of its own. */
async function startNode(t: Test, env: NodeJS.ProcessEnv, credentials: Credentials) {
  const server = await startServer(t, env)
  const token = () => server.token(credentials)
  const verify = (token: string) => server.statusOf('/v1/oauth/verify', token)

  return {
    server,
    token,
    /** An access token. It is asked for again after a 503, which a busy machine may have caused. */
    async freshToken(): Promise<string> {
      for (;;) {
        const { status, body } = await token()
        if (status === 200) return body.access_token as string
      }
    },
    issue: async () => (await token()).status,
    verify,
    /** The same, asked again after a 503. */
    async verdict(token: string): Promise<number> {
      for (;;) {
        const status = await verify(token)
        if (status !== 503) return status
      }
    },
    revoke: (token: string) => server.revoke(credentials, token),
    live: () => server.statusOf('/health/live'),
    ready: () => server.statusOf('/health/ready'),
  }
}
