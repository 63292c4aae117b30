import type { Test } from 'tap'
import { register, startServer } from './spawn.ts'
import { temporaryDatabase } from './temporary-database.ts'

/** A server of two workers, and an application that may ask it for tokens. */
export async function startWorkers(t: Test) {
  const { file, env: database } = temporaryDatabase(t)
  const env = { ...database, WORKERS: '2' }
  const credentials = await register(env)
  return { file, env, credentials, server: await startServer(t, env) }
}
