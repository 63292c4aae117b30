import { runJson } from './run.ts'

/** The command that registers an application, in a new database if there is none; options may follow. */
export const REGISTER = ['apps', 'register', '--create', '--name', 'A', '--developer-email', 'a@b.example']

/** Registers an application from this process, in the database that the environment names. */
export async function register(env: NodeJS.ProcessEnv): Promise<{ client_id: string; client_secret: string }> {
  const { client_id, client_secret } = await runJson(REGISTER, { env })
  return { client_id, client_secret }
}
