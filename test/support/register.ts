import { runJson } from './run.ts'

const REGISTER = ['apps', 'register', '--create', '--name', 'A', '--developer-email', 'a@b.example']

/** Registers an application from this process, in the database that the environment names; it is made if there is none. */
export async function register(env: NodeJS.ProcessEnv): Promise<{ client_id: string; client_secret: string }> {
  const { client_id, client_secret } = await runJson(REGISTER, { env })
  return { client_id, client_secret }
}
