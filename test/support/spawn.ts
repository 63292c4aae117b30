import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process'
import { once } from 'node:events'
import http from 'node:http'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { Readable } from 'node:stream'
import { json, text } from 'node:stream/consumers'
import type { Test } from 'tap'
import { main } from '../../src/commands/program.ts'
import { REGISTRATION_OPTIONS } from './registration.ts'
import { temporaryDatabase } from './temporary-database.ts'
import { until } from './until.ts'

export const MAIN = join(import.meta.dirname, '../../src/main.ts')

const REGISTER = ['apps', 'register', '--create', ...REGISTRATION_OPTIONS.split(' '), '--all-suites']

export interface Credentials {
  client_id: string
  client_secret: string
}

export type Server = Awaited<ReturnType<typeof startServer>>

interface StartOptions {
  /** The program: of another release, for example. */
  main?: string
  cwd?: string
  stdio?: StdioOptions
}

/** Registers an application from this process, in the database that the environment names; it is made if there is none. */
export async function register(env: NodeJS.ProcessEnv): Promise<Credentials> {
  const { client_id, client_secret } = await runJson(REGISTER, { env })
  return { client_id, client_secret }
}

/** Starts the program as a process of its own, as an operator does. It is killed with the test if it still runs. */
export function start(
  t: Test,
  args: string[],
  env: NodeJS.ProcessEnv,
  { main = MAIN, cwd = process.cwd(), stdio = 'pipe' }: StartOptions = {},
): ChildProcess {
  const child = spawn(process.execPath, [main, ...args], { env: { ...process.env, ...env }, stdio, cwd })
  t.teardown(() => child.kill('SIGKILL'))
  return child
}

/** The environment in which a process runs this code before the program. */
export function preload(code: string): { NODE_OPTIONS: string } {
  const script = `data:text/javascript,${encodeURIComponent(code)}`
  return { NODE_OPTIONS: `${process.env.NODE_OPTIONS ?? ''} --import=${script}` }
}

/** Runs a command to its end. */
export async function command(t: Test, args: string[], env: NodeJS.ProcessEnv, stdin = '', options: StartOptions = {}) {
  const child = start(t, args, env, options)
  child.stdin?.end(stdin)
  const said = [child.stdout, child.stderr].map((stream) => text(stream as NodeJS.ReadableStream))
  const [[status], out = '', err = ''] = await Promise.all([once(child, 'exit'), ...said])
  return { out, err, status: status as number | null }
}

/** Starts `serve` on a free port and waits for its ready line; it makes its database if there is none. */
export async function startServer(
  t: Test,
  env: NodeJS.ProcessEnv,
  child = start(t, ['serve', '--create'], { PORT: '0', ...env }),
) {
  const lines: string[] = []
  // Not 'exit', which may come before the last line of its log.
  const exited = once(child, 'close').then(([status, signal]) => ({ status, signal }))
  const errors = text(child.stderr as NodeJS.ReadableStream)
  const address = await new Promise<string>((resolve, reject) => {
    createInterface(child.stdout as NodeJS.ReadableStream).on('line', (line) => {
      lines.push(line)
      if (line.includes('"ready"')) resolve(JSON.parse(line).address)
    })
    exited.then(async () => reject(new Error(await errors)))
  })

  /** The lines of its log with this message. */
  function logged(message: string) {
    const candidates = lines.filter((line) => line.includes(message))
    return candidates.map((line) => JSON.parse(line)).filter(({ msg }) => msg === message)
  }

  const formOf = ({ client_id, client_secret }: Credentials) =>
    new URLSearchParams({ grant_type: 'client_credentials', client_id, client_secret }).toString()
  const post = (more = {}) => {
    const headers = { 'content-type': 'application/x-www-form-urlencoded', ...more }
    return http.request(`${address}/v1/oauth/accesstoken`, { method: 'POST', agent: false, headers })
  }

  /** A token request, on a connection of its own. Resolves when the server has read its head, to what sends the rest. */
  async function beginToken(credentials: Credentials) {
    const form = formOf(credentials)
    const request = post({ 'content-length': form.length, expect: '100-continue' })
    request.flushHeaders()
    await once(request, 'continue')
    const answer = answerTo(request)
    answer.catch(() => {})
    return async () => {
      request.end(form)
      return answer
    }
  }

  /** Asks for a token, on a connection of its own. */
  async function token(credentials: Credentials) {
    return answerTo(post().end(formOf(credentials)))
  }

  return {
    child,
    address,
    lines,
    logged,
    /** The messages of its log, but for those of tokens and of a new database. */
    messages: () =>
      lines
        .map((line) => JSON.parse(line).msg)
        .filter((message) => message !== 'audit head' && !/^(token issued|database created)$/.test(message)),
    exited,
    beginToken,
    token,
    /** The same, and only the status. */
    issue: async (credentials: Credentials) => (await token(credentials)).status,
    /** The status that a path has, with a token, on a connection of its own. */
    async statusOf(path: string, token?: string) {
      const headers = { connection: 'close', ...(token && { authorization: `Bearer ${token}` }) }
      return (await fetch(address + path, { headers })).status
    },
    async revoke(credentials: Credentials, token: string) {
      const body = new URLSearchParams({ ...credentials, token })
      const headers = { connection: 'close' }
      return (await fetch(`${address}/v1/oauth/revoke`, { method: 'POST', headers, body })).status
    },
    /** The process ids of those that have issued tokens. */
    issuers: () => [...new Set<number>(logged('token issued').map(({ pid }) => pid))],
    /** Replaces all workers of a leader. On a busy machine that takes a while. */
    async restart() {
      const before = logged('restarted').length
      child.kill('SIGHUP')
      await until(() => logged('restarted').length > before, 120_000)
    },
    /** Ends it by a signal. Resolves to its status when it has ended. */
    stop(signal: NodeJS.Signals = 'SIGTERM') {
      child.kill(signal)
      return exited
    },
  }
}

/** A server with a database of its own, and an application that may ask it for tokens. */
export async function startServing(t: Test, settings: NodeJS.ProcessEnv = {}) {
  const database = temporaryDatabase(t)
  const credentials = await register(database.env)
  return { ...database, credentials, server: await startServer(t, { ...database.env, ...settings }) }
}

async function answerTo(request: http.ClientRequest) {
  const [response] = (await once(request, 'response')) as [http.IncomingMessage]
  return { status: response.statusCode as number, body: (await json(response)) as Record<string, string> }
}

/** Runs a command as the shell would, in this process; `isTTY`: on a terminal. Of standard error the events that it logged are apart. */
export async function run(
  args: string[],
  {
    env = {},
    stdin = '',
    isTTY = false,
  }: { env?: NodeJS.ProcessEnv; stdin?: string | Buffer | AsyncIterable<string>; isTTY?: boolean } = {},
) {
  let out = ''
  let err = ''
  const status = await main(args, {
    env,
    stdin: Object.assign(Readable.from(isText(stdin) ? [Buffer.from(stdin)] : stdin), { isTTY }),
    stdout: {
      isTTY,
      write(text, done) {
        out += text
        done?.()
      },
    },
    stderr: { write: (text) => (err += text), isTTY },
  })
  const isEvent = (line: string) => line.startsWith('{"level"')
  const lines = err.split(/(?<=\n)/)
  return {
    status,
    out,
    err: lines.filter((line) => !isEvent(line)).join(''),
    events: lines.filter(isEvent).map((line) => JSON.parse(line)),
  }
}

const isText = (stdin: unknown): stdin is string | Buffer => typeof stdin === 'string' || Buffer.isBuffer(stdin)

/** Like `run`, for a command that must succeed, with `--json`: what it printed. */
export async function runJson(args: string[], options: Parameters<typeof run>[1]) {
  const { status, out, err } = await run([...args, '--json'], options)
  if (status !== 0) throw new Error(err)
  return JSON.parse(out)
}
