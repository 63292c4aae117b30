import { createServer, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { auditNodes } from '../../lab/failover/load/audit.ts'
import type { Entry as NodesEntry } from '../../lab/failover/load/ledger.ts'
import { startLoad as startNodesLoad } from '../../lab/failover/load/load.ts'
import { createRandom } from '../../lab/trial/random.ts'
import { openClient } from '../../lab/trial/world/client.ts'
import { audit, type Entry, startLoad } from '../../lab/trial/world/ledger.ts'
import { REVOKE_PATH } from '../../src/http/revoke.ts'
import { listenHere } from '../support/listen-here.ts'
import { until } from '../support/until.ts'

const APPLICATIONS = [{ client_id: 'a', client_secret: 'b' }]

/** When the server cuts a connection. */
const MOMENTS = [
  'before reading',
  'while reading',
  'before the answer',
  'within the answer',
  'after the answer',
] as const

/** Of so many requests one is cut at each moment. */
const ONE_CUT_IN = 25

/** How long the server may let a request wait: longer than clients pause after a failure. */
const LATEST_MS = 30

type Kind = 'token' | 'revocation' | 'check'

/** With a lie, what is answered to some requests of that kind is not done. */
type Lie = Exclude<Kind, 'check'> | undefined

/** The tokens that a lie is about: one in five. */
const isForgotten = (token: string) => /[05]$/.test(token)

/** A small server, which is correct but for a lie, and cuts connections at every moment. */
async function startServer(t: Test, lie: Lie) {
  const random = createRandom('cuts')
  const tokens = new Set<string>()
  const cuts = new Set<string>()
  const found = { pipelined: 0 }
  let issued = 0

  function act(request: string): [kind: Kind, answer: string] {
    if (request.startsWith('GET ')) {
      const isValid = tokens.has(/^Authorization: Bearer (\w+)/m.exec(request)?.[1] as string)
      return ['check', answerOf(isValid ? 200 : 401)]
    }
    if (request.startsWith(`POST ${REVOKE_PATH} `)) {
      const token = /\btoken=(\w+)$/.exec(request)?.[1] as string
      if (lie !== 'revocation' || !isForgotten(token)) tokens.delete(token)
      return ['revocation', answerOf(200)]
    }
    const token = `token${++issued}`
    if (lie !== 'token' || !isForgotten(token)) tokens.add(token)
    return ['token', answerOf(200, JSON.stringify({ access_token: token }))]
  }

  async function serve(socket: Socket, request: string): Promise<void> {
    await sleep(random.between(0, LATEST_MS))
    if (socket.destroyed) return
    const moment = MOMENTS[random.between(0, ONE_CUT_IN)]
    if (moment === 'before reading' || moment === 'while reading') {
      cuts.add(moment)
      return void (moment === 'before reading' ? socket.resetAndDestroy() : socket.destroy())
    }
    const [kind, answer] = act(request)
    if (!moment) return void socket.write(answer)
    cuts.add(`${kind}: ${moment}`)
    const part = { 'before the answer': 0, 'within the answer': random.between(1, answer.length) }
    socket.end(moment === 'after the answer' ? answer : answer.slice(0, part[moment]))
  }

  const server = createServer((socket) => {
    let [last, pending] = [Promise.resolve(), 0]
    socket.setEncoding('latin1').on('error', () => {})
    socket.on('data', (request: string) => {
      if (pending++ > 0) found.pipelined++
      last = last.then(() => serve(socket, request)).finally(() => pending--)
    })
  })
  const { port } = await listenHere(t, server)
  return { port, found, hasCutAtEveryMoment: () => cuts.size === 2 + 3 * 3 }
}

function answerOf(status: number, body = ''): string {
  return `HTTP/1.1 ${status} \r\nContent-Length: ${body.length}\r\n\r\n${body}`
}

/** What an audit must find, and whether that is enough for a trial. */
function expected(ledger: { token: string; revokeSentAt?: unknown; revokedAt?: unknown }[], lie: Lie) {
  const forgotten = ledger.filter(({ token }) => isForgotten(token))
  const lost = forgotten.filter(({ revokeSentAt }) => revokeSentAt === undefined).length
  const resurrected = forgotten.filter(({ revokedAt }) => revokedAt !== undefined).length
  return {
    lost: lie === 'token' ? lost : 0,
    resurrected: lie === 'revocation' ? resurrected : 0,
    isEnough: lost > 10 && resurrected > 10,
  }
}

for (const [rule, lie] of [
  ['of a correct server that cuts connections at every moment nothing is lost', undefined],
  ['a token that the server forgets is noticed', 'token'],
  ['a revocation that the server forgets is noticed', 'revocation'],
] as [string, Lie][]) {
  t.test(`Ledger: ${rule}`, async (t) => {
    const { port, found, hasCutAtEveryMoment } = await startServer(t, lie)
    const ledger: Entry[] = []
    const random = createRandom('trial')
    const habits = { connections: 32, revoke: 0.8, twice: 0.8 }
    while (ledger.length < (lie ? 100 : 600) || !expected(ledger, lie).isEnough) {
      const load = startLoad(port, { applications: APPLICATIONS, random, ledger, habits })
      const { length } = ledger
      await until(() => ledger.length >= length + 100)
      await load.stop()
    }
    const { lost, resurrected } = expected(ledger, lie)
    t.equal(found.pipelined, 0, 'no request is sent while an answer is pending')
    // Only audits make checks.
    do t.strictSame(await audit(port, ledger), { lost, resurrected })
    while (!hasCutAtEveryMoment())
  })

  t.test(`Ledger of several nodes: ${rule}`, async (t) => {
    const { port, found, hasCutAtEveryMoment } = await startServer(t, lie)
    const ledger: NodesEntry[] = []
    const nodes = [port, port, port, port]
    const load = startNodesLoad(nodes, { applications: APPLICATIONS, ledger, random: createRandom('failover') })
    await until(() => hasCutAtEveryMoment() && expected(ledger, lie).isEnough)
    await load.stop()
    const { lost, resurrected } = expected(ledger, lie)
    t.strictSame(await auditNodes(nodes, ledger), { tokens: 4 * lost, revocations: 4 * resurrected })
    t.equal(found.pipelined, 0, 'no request is sent while an answer is pending')
    const { refusedWrongly, acceptedLate } = load.wrong
    t.strictSame([refusedWrongly > 0, acceptedLate > 0], [lie === 'token', lie === 'revocation'])
  })
}

t.test('Ledger: a connection takes no request while an answer is pending', async (t) => {
  const client = openClient((await listenHere(t, createServer())).port)
  const first = client.send('one')
  t.throws(() => client.send('another'), { message: 'an answer is still pending on this connection' })
  client.close()
  await t.rejects(first, { message: 'the connection was given up' })
})

t.test('Ledger: bytes that no request has asked for are not the answer to the next one', async (t) => {
  const answers = [answerOf(200) + answerOf(503), answerOf(401)]
  const server = createServer((socket) => socket.on('data', () => socket.write(answers.shift() as string)))
  const client = openClient((await listenHere(t, server)).port)
  t.strictSame([await client.status('one'), await client.status('two')], [200, 401])
  client.close()
})
