import { once } from 'node:events'
import { createServer } from 'node:net'
import type { Command } from 'commander'
import { readConfig } from '../config.ts'
import { commandAuthor } from './shared/administer.ts'
import { readInput, type Terminal } from './shared/terminal.ts'
import { trust } from './shared/trust.ts'

const HOST = '127.0.0.1'
const FIRST_PORT = 8080
const FIRST_ADMIN_PORT = 8081

/** Short, so that new tokens show up in the console at once. This is cheap with a store in memory. */
const USAGE_INTERVAL_MS = 1000

/** Adds `demo`, a server with a store in memory that listens on this machine only. */
export function addDemo(program: Command, terminal: Terminal): void {
  const command = program.command('demo').description('run a throw-away server with its console, on this machine only')
  command.action(() => demo(terminal))
}

async function demo(terminal: Terminal): Promise<void> {
  const { createAdministration } = await import('../administration/administration.ts')
  const { run } = await import('../server/serve.ts')
  const { createTelemetry } = await import('../server/telemetry.ts')
  const { openStore } = await import('../store/open.ts')
  const { createDemoWorld, explain, makeLink, makeTraffic, printLinkOnEnter, signInHint } = await import(
    './demo/world.ts'
  )

  const port = await firstFree(FIRST_PORT)
  const adminPort = await firstFree(Math.max(FIRST_ADMIN_PORT, port + 1))
  const { TLS_CERT_FILE = 'none', TLS_KEY_FILE = 'none' } = terminal.env
  const isTls = TLS_CERT_FILE !== 'none'
  // A certificate has a name.
  const origin = isTls ? 'https://localhost' : `http://${HOST}`
  const address = `${origin}:${port}`
  const config = readConfig({
    PORT: String(port),
    PUBLIC_URL: address,
    ...{ TLS_CERT_FILE, TLS_KEY_FILE, ADMIN_TLS_CERT_FILE: TLS_CERT_FILE, ADMIN_TLS_KEY_FILE: TLS_KEY_FILE },
    ADMIN_ADDRESS: `${HOST}:${adminPort}`,
    DATABASE_URL: 'sqlite::memory:',
    HANDOVER: 'on',
    CONNECTION_LIMIT: 'off',
    // Log lines would push the login link off the screen; the console shows what happens.
    LOG_LEVEL: 'error',
  })
  const telemetry = createTelemetry(config.LOG_LEVEL, { isTTY: terminal.stdout.isTTY === true, counts: true })
  const store = await openStore(config.DATABASE_URL, { lockTimeout: 0 })
  const { observe } = telemetry
  const administration = createAdministration({ store, now: Date.now, observe, author: commandAuthor() })
  const world = await createDemoWorld(administration)

  const options = { ...config, usageInterval: USAGE_INTERVAL_MS, howToSignIn: signInHint(terminal.stdin) }
  await run(async () => store, telemetry, options)
  const link = () => makeLink(administration, `${origin}:${adminPort}`)
  if (isTls) trust(TLS_CERT_FILE, await readInput(terminal, TLS_CERT_FILE))
  const curl = isTls ? `curl --cacert ${TLS_CERT_FILE}` : 'curl'
  terminal.stdout.write(explain(address, await link(), world.application, terminal.stdin, curl))
  process.once('exit', () => terminal.stdout.write('\nStopped. Everything in the demo is gone.\n'))
  void makeTraffic(address, world.partners)
  void printLinkOnEnter(terminal, link)
}

async function firstFree(port: number): Promise<number> {
  const probe = createServer().listen(port, HOST)
  const isFree = await once(probe, 'listening').then(
    () => true,
    () => false,
  )
  probe.close()
  return isFree ? port : firstFree(port + 1)
}
