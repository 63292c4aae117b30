import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { run } from './tools.ts'

/** An artifact that was installed somewhere. */
export interface Installed {
  /** The program and the arguments before those of the command. */
  command: string[]
  /** The same for `serve`, if a service starts it in another way. */
  serve?: string[]
  /** Where it runs, and with what. */
  cwd?: string
  env: NodeJS.ProcessEnv
  /** The path of a file that it may write to, as it sees it. */
  file(name: string): string
}

/** What somebody else relies on, which an upgrade must not lose. */
export interface Data {
  token: string
  clientId: string
  clientSecret: string
  applications: unknown
}

/** Runs a command with --json, and returns what it printed. Throws an Error if it fails. */
export function json({ command: [program = '', ...before], cwd, env }: Installed, ...args: string[]) {
  const options = { ...(cwd && { cwd }), env }
  return JSON.parse(run(program, [...before, ...args, '--json'], options) || 'null')
}

/** Starts the server, and waits until it is ready. */
export async function start({ command, serve = [...command, 'serve'], cwd, env }: Installed, port: number) {
  const [program = '', ...args] = serve
  const child = spawn(program, args, { ...(cwd && { cwd }), env, stdio: ['ignore', 'pipe', 'pipe'] })
  let log = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (log += chunk))
  const exited = once(child, 'exit')
  const address = `http://127.0.0.1:${port}`
  for (let tries = 0; ; tries++) {
    const answer = await fetch(`${address}/health/ready`).catch(() => undefined)
    if (answer?.status === 200) return server(child, address, exited)
    if (child.exitCode !== null || tries === 600) {
      child.kill('SIGKILL')
      throw new Error(`The server did not start:\n${log}`)
    }
    await sleep(100)
  }
}

function server(child: ChildProcess, address: string, exited: Promise<unknown>) {
  async function post(path: string, form: Record<string, string>) {
    const answer = await fetch(address + path, { method: 'POST', body: new URLSearchParams(form) })
    return { status: answer.status, body: (await answer.json().catch(() => ({}))) as Record<string, string> }
  }
  return {
    /** Gets a token. Throws an Error if it is refused. */
    async token({ clientId, clientSecret }: Pick<Data, 'clientId' | 'clientSecret'>): Promise<string> {
      const form = { grant_type: 'client_credentials', client_id: clientId, client_secret: clientSecret }
      const { status, body } = await post('/v1/oauth/accesstoken', form)
      expect(status === 200 && body.access_token !== undefined, `A token is answered with ${status}.`)
      return body.access_token as string
    },
    /** The status with which a gateway learns whether a token is valid. */
    async check(token: string): Promise<number> {
      const headers = { authorization: `Bearer ${token}` }
      return (await fetch(`${address}/v1/oauth/verify/store`, { headers })).status
    },
    async revoke(token: string, { clientId, clientSecret }: Pick<Data, 'clientId' | 'clientSecret'>): Promise<void> {
      const { status } = await post('/v1/oauth/revoke', { token, client_id: clientId, client_secret: clientSecret })
      expect(status === 200, `A revocation is answered with ${status}.`)
    },
    async stop(): Promise<void> {
      child.kill('SIGTERM')
      await exited
    },
  }
}

export function expect(isTrue: boolean, otherwise: string): void {
  if (!isTrue) throw new Error(otherwise)
}

/** Registers a suite and an application. */
export function register(installed: Installed): Pick<Data, 'clientId' | 'clientSecret'> {
  json(installed, 'suites', 'register', 'store', '--name', 'Store API')
  const of = ['--name', 'Store front', '--developer-email', 'dev@partner.example', '--suite', 'store']
  const { client_id: clientId, client_secret: clientSecret } = json(installed, 'applications', 'register', ...of)
  return { clientId, clientSecret }
}

/** Signs in to the console with a link, and expects it to show a document. `admin`: its host and port. */
async function readDocument(installed: Installed, admin: string): Promise<void> {
  const [, code = ''] = json(installed, 'console', 'anna').url.split('#')
  const sent = { method: 'POST', body: new URLSearchParams({ code }), redirect: 'manual' } as const
  const { headers } = await fetch(`http://${admin}/login`, { ...sent, headers: { 'sec-fetch-site': 'same-origin' } })
  const cookie = String(headers.get('set-cookie')).split(';', 1).join()
  const page = await (await fetch(`http://${admin}/docs/operations/settings.md`, { headers: { cookie } })).text()
  expect(page.includes('<code>PUBLIC_URL</code>'), 'The console does not show the document on settings.')
}

/**
 * Does what people install the server for, from nothing: `init`, register, a token, check, revoke, back up, read a document. Leaves
 * it stopped.
 */
export async function mainJob(installed: Installed, port: number, admin: string): Promise<Data> {
  const init = ['init', '--yes', '--public-url', 'https://auth.example', '--operator', 'anna']
  const made = json(installed, ...init)
  expect(made.settings.made && made.operator.made && made.database.made, 'init did not make everything.')
  const again = json(installed, 'init', '--yes')
  expect(!again.settings.made && !again.operator.made && !again.database.made, 'init made something twice.')
  const credentials = register(installed)
  const server = await start(installed, port)
  try {
    const revoked = await server.token(credentials)
    expect((await server.check(revoked)) === 200, 'A token is not valid.')
    await server.revoke(revoked, credentials)
    expect((await server.check(revoked)) === 401, 'A revoked token is valid.')
    const token = await server.token(credentials)
    json(installed, 'backup', installed.file('backup.db'))
    await readDocument(installed, admin)
    return { token, ...credentials, applications: json(installed, 'applications', 'list') }
  } finally {
    await server.stop()
  }
}

/** Starts the server on data of an older release, and expects nothing to be lost. Leaves it stopped. */
export async function afterUpgrade(installed: Installed, port: number, { token, applications, ...credentials }: Data) {
  json(installed, 'migrate')
  const server = await start(installed, port)
  try {
    expect((await server.check(token)) === 200, 'A token of the release before is not valid.')
    expect((await server.check(await server.token(credentials))) === 200, 'A new token is not valid.')
    const [now, before] = [json(installed, 'applications', 'list'), applications].map((all) => namesIn(all))
    expect(before !== '' && now === before, `Applications were ${before} and are ${now}.`)
  } finally {
    await server.stop()
  }
}

const namesIn = (applications: unknown) =>
  (applications as { client_id: string; name: string }[]).map(({ client_id, name }) => `${client_id} ${name}`).join()
