import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process'
import { once } from 'node:events'
import http from 'node:http'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { json, text } from 'node:stream/consumers'
import type { Test } from 'tap'

export const MAIN = join(import.meta.dirname, '../../src/main.ts')

/** `main`: the program: of another release, for example. */
type StartOptions = { main?: string; cwd?: string; stdio?: StdioOptions }

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

/** Runs a command to its end. */
export async function command(t: Test, args: string[], env: NodeJS.ProcessEnv, stdin = '', options: StartOptions = {}) {
  const child = start(t, args, env, options)
  child.stdin?.end(stdin)
  const [out, err, [status]] = await Promise.all([
    text(child.stdout as NodeJS.ReadableStream),
    text(child.stderr as NodeJS.ReadableStream),
    once(child, 'exit'),
  ])
  return { out, err, status: status as number | null }
}

/** Starts `serve` on a free port and waits for its ready line. */
export async function startServer(t: Test, env: NodeJS.ProcessEnv, child = start(t, ['serve'], { PORT: '0', ...env })) {
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

  /** Asks for a token, on a connection of its own. */
  async function token({ client_id, client_secret }: { client_id: string; client_secret: string }) {
    const form = new URLSearchParams({ grant_type: 'client_credentials', client_id, client_secret })
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    const request = http.request(`${address}/v1/oauth/accesstoken`, { method: 'POST', agent: false, headers })
    request.end(form.toString())
    const [response] = (await once(request, 'response')) as [http.IncomingMessage]
    return { status: response.statusCode as number, body: (await json(response)) as Record<string, string> }
  }

  return { child, address, lines, logged, exited, token }
}
