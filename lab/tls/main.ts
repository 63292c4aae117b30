import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { connect as connectPlainly, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect, type TLSSocket } from 'node:tls'
import { makeCertificate } from '../../test/support/certificate.ts'
import { describeMachine, thisMachine } from '../bench/report/results.ts'
import { table } from '../bench/report/table.ts'
import { median } from '../bench/row.ts'
import { makeData, openCheckout } from '../bench/world/checkout.ts'
import { cpuTime } from '../bench/world/proc-stat.ts'
import { tokenRequest } from '../bench/world/requests.ts'
import { print, runToEnd } from '../trial/command-line.ts'
import { startServer } from '../trial/world/server.ts'

const CONNECTIONS = 16

const cleanup = new Set<() => void>()
const folder = mkdtempSync(join(tmpdir(), 'token-server-tls-'))
cleanup.add(() => rmSync(folder, { recursive: true, force: true }))

const KINDS = {
  plain: undefined,
  'P-256': ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1'],
  'RSA 2048': ['-newkey', 'rsa:2048'],
}

/** A server, plain or with a key of this kind, and how clients ask it. */
async function serve([kind, keys]: [string, string[] | undefined]) {
  const name = kind.replace(' ', '')
  const data = makeData(openCheckout(join(import.meta.dirname, '../..'), 'product'), {
    folder,
    url: `sqlite:${join(folder, `${name}.db`)}`,
    applications: 1,
  })
  const pair = keys && makeCertificate(folder, { name, keys })
  const tls = pair && { TLS_CERT_FILE: pair.files.certificate, TLS_KEY_FILE: pair.files.key }
  const server = await startServer({ folder, cleanup }, data, { ...tls })
  const request = tokenRequest(data.applications[0])
  const to = { host: '127.0.0.1', port: server.port }

  /** Calls back when the connection can be used. */
  function open(session: Buffer | undefined, onOpen: (socket: Socket) => void): Socket {
    const socket: Socket = pair
      ? connect({ ...to, ca: pair.certificate, servername: 'localhost', session }, () => onOpen(socket))
      : connectPlainly({ ...to, noDelay: true }, () => onOpen(socket))
    return socket
  }
  return { kind, server, request, open }
}

type Served = Awaited<ReturnType<typeof serve>>

/** Asks until this time. Resolves to the number of tokens. */
type Client = (served: Served, end: number) => Promise<number>

const keep: Client = ({ open, request }, end) =>
  new Promise((resolve, reject) => {
    let tokens = 0
    const socket = open(undefined, () => socket.write(request))
    socket.on('error', reject).on('data', (answer) => {
      assertToken(answer)
      tokens++
      if (performance.now() < end) return void socket.write(request)
      socket.destroy()
      resolve(tokens)
    })
  })

const renew =
  (resumes: boolean): Client =>
  async ({ open, request }, end) => {
    let session: Buffer | undefined
    let tokens = 0
    for (; performance.now() < end; tokens++) {
      await new Promise<void>((resolve, reject) => {
        const socket = open(session, () => {
          if (session && !(socket as TLSSocket).isSessionReused()) return reject(new Error('No session was resumed.'))
          socket.write(request)
        })
        if (resumes) socket.on('session', (given) => (session = given))
        socket.on('error', reject).once('data', (answer) => {
          assertToken(answer)
          socket.destroy()
          resolve()
        })
      })
    }
    return tokens
  }

function assertToken(answer: Buffer): void {
  if (!answer.toString('latin1').startsWith('HTTP/1.1 200 ')) throw new Error(answer.toString('latin1'))
}

const WAYS: Record<string, Client> = {
  'kept connections': keep,
  'a new connection for each': renew(false),
  'a new connection, resumed': renew(true),
}

/** The median of the rounds' ratios, and their range. */
function ratio(costs: number[], plain: number[]): string {
  const ratios = costs.map((cost, round) => cost / (plain[round] as number))
  const [least, most] = [Math.min(...ratios), Math.max(...ratios)].map((one) => one.toFixed(2))
  return `${median(ratios).toFixed(2)}: ${least}–${most}`
}

async function main(): Promise<void> {
  const [seconds = 4, rounds = 5] = process.argv.slice(2).map(Number)
  const servers: Served[] = []
  for (const kind of Object.entries(KINDS)) servers.push(await serve(kind))

  /** Microseconds of CPU time for a token. */
  async function measure(client: Client, served: Served): Promise<number> {
    const before = cpuTime(served.server.pid)
    const end = performance.now() + seconds * 1000
    const tokens = await Promise.all(Array.from({ length: CONNECTIONS }, () => client(served, end)))
    return (cpuTime(served.server.pid) - before) / tokens.reduce((sum, one) => sum + one)
  }
  for (const served of servers) await measure(keep, served)
  const rows: string[][] = []
  for (const [way, client] of Object.entries(WAYS)) {
    const found = servers.map((): number[] => [])
    for (let round = 0; round < rounds; round++) {
      for (const [at, served] of servers.entries()) found[at]?.push(await measure(client, served))
    }
    const [plain = [], ...others] = found
    rows.push([
      way,
      median(plain).toFixed(0),
      ...others.map((costs) => `${median(costs).toFixed(0)} (${ratio(costs, plain)})`),
    ])
  }
  print(`${describeMachine(thisMachine())}, load average ${readFileSync('/proc/loadavg', 'utf8').split(' ', 1)[0]}`)
  print(table([[`µs for a token, ${CONNECTIONS} at a time`, ...servers.map(({ kind }) => kind)], ...rows]))
  for (const { server } of servers) await server.stop()
}

await runToEnd(main, cleanup)
