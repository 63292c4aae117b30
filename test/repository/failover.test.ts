import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import t from 'tap'
import type { Write } from '../../failover/cluster/probe.ts'
import { figuresOf } from '../../failover/figures.ts'
import { type Entry, wrongIn } from '../../failover/load/ledger.ts'
import type { Answer } from '../../failover/load/load.ts'
import { watchConnections } from '../../failover/nodes/connections.ts'

t.test(
  'Failover: connections are counted as those of a process to a port',
  { skip: process.platform !== 'linux' && '/proc is that of Linux' },
  async (t) => {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const sockets = Array.from({ length: 3 }, () => connect(port, '127.0.0.1'))
    await Promise.all(sockets.map((socket) => once(socket, 'connect')))
    const here = watchConnections([process.pid], port)
    const elsewhere = watchConnections([process.ppid], port)
    const otherPort = watchConnections([process.pid], port + 1)
    t.equal(here.stop(), 3)
    t.equal(elsewhere.stop(), 0)
    t.equal(otherPort.stop(), 0)
    for (const socket of sockets) socket.destroy()
    server.close()
  },
)

const answer = (node: number, answeredAt: number, values: Partial<Answer> = {}): Answer => ({
  node,
  kind: 'token',
  sentAt: answeredAt - 10,
  answeredAt,
  status: 200,
  ...values,
})

/** The new primary has written at 5,000; the fault was at 1,000. */
const BACK = { at: 1000, from: 1000, end: { startedAt: 4990, endedAt: 5000 } as Write }

t.test('Failover: the time without a token is that of the node that had to wait longest', async (t) => {
  const answers = [answer(0, 100), answer(0, 990), answer(1, 1200), answer(0, 5500), answer(1, 5100), answer(0, 5600)]
  t.equal(figuresOf(answers, BACK).without, 4.51)
})

t.test('Failover: a pause before the fault does not count', async (t) => {
  const answers = [answer(0, -9000), answer(0, 990), answer(0, 1500), answer(0, 5200)]
  t.equal(figuresOf(answers, BACK).without, 3.7)
})

t.test('Failover: the time to the first token begins when the new primary has written', async (t) => {
  const answers = [answer(0, 900), answer(1, 900), answer(0, 5020), answer(1, 6500), answer(1, 6600)]
  t.equal(figuresOf(answers, BACK).firstToken, 1.5)
  t.equal(figuresOf([answer(0, 4995)], BACK).firstToken, 0, 'a token that is faster than the probe')
})

t.test('Failover: a token from before the cluster could be back is not the first one', async (t) => {
  const answers = [answer(0, 1100), answer(0, 5300)]
  const end = { startedAt: 1050, endedAt: 5000 } as Write
  t.equal(figuresOf(answers, { at: 1000, from: 4000, end }).firstToken, 0.3, 'the write waited for a standby')
})

t.test('Failover: a node that never gives a token again has no time to the first one', async (t) => {
  t.equal(figuresOf([answer(0, 900), answer(0, 5020), answer(1, 900)], BACK).firstToken, Infinity)
})

t.test('Failover: refusals, missing answers and answers that nobody expects are counted', async (t) => {
  const answers = [
    answer(0, 5100),
    answer(0, 2000, { status: 503, sentAt: 500 }),
    answer(0, 2000, { status: 503, kind: 'check' }),
    answer(0, 2000, { status: 0, kind: 'revocation' }),
    answer(0, 2000, { status: 401, kind: 'check' }),
    answer(0, 2000, { status: 200, kind: 'check' }),
    answer(0, 2000, { status: 401 }),
    answer(0, 2000, { status: 500, kind: 'check' }),
  ]
  const { refused, slowestRefusal, unanswered, unexpected, tokens, checks } = figuresOf(answers, BACK)
  t.strictSame([refused, slowestRefusal, unanswered, unexpected, tokens, checks], [2, 1.5, 1, 2, 1, 2])
})

const entry: Entry = { token: 'a', application: { client_id: 'a', client_secret: 'b' }, issuedAt: 0 }

const revoked = { ...entry, revokeSentAt: 50, revokedAt: 100 }
const asked = { ...entry, revokeSentAt: 50 }

for (const [rule, of, cases] of [
  ['that was revoked before the check began is not accepted', revoked, { 200: 'acceptedLate' }],
  ['whose revocation was not asked for is not refused', entry, { 401: 'refusedWrongly' }],
  ['whose revocation was not answered may be valid or not', asked, {}],
] as [string, Entry, Record<number, string>][]) {
  t.test(`Failover: a token ${rule}`, async (t) => {
    for (const status of [200, 401, 503]) t.equal(wrongIn(of, status, 101), cases[status], String(status))
  })
}

t.test('Failover: a check that began before the answer to the revocation may have been first', async (t) => {
  t.equal(wrongIn(revoked, 200, 99), undefined)
})
