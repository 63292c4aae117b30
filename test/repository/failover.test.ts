import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import t from 'tap'
import type { Write } from '../../lab/failover/cluster/probe.ts'
import { figuresOf } from '../../lab/failover/figures.ts'
import { type Entry, wrongIn } from '../../lab/failover/load/ledger.ts'
import type { Answer } from '../../lab/failover/load/load.ts'
import { watchConnections } from '../../lab/failover/nodes/connections.ts'
import { listenHere } from '../support/listen-here.ts'

const LINUX = { skip: process.platform !== 'linux' && '/proc is that of Linux' }

t.test('Failover: connections are counted as those of a process to a port', LINUX, async (t) => {
  const { port } = await listenHere(t, createServer())
  const sockets = Array.from({ length: 3 }, () => connect(port, '127.0.0.1'))
  await Promise.all(sockets.map((socket) => once(socket, 'connect')))
  t.equal(watchConnections([process.pid], port).stop(), 3)
  t.equal(watchConnections([process.ppid], port).stop(), 0, 'those of another process')
  t.equal(watchConnections([process.pid], port + 1).stop(), 0, 'those to another port')
  for (const socket of sockets) socket.destroy()
})

const answer = (node: number, answeredAt: number, values: Partial<Answer> = {}): Answer => {
  return { node, kind: 'token', sentAt: answeredAt - 10, answeredAt, status: 200, ...values }
}

/** The new primary has written at 5,000; the fault was at 1,000. */
const BACK = { at: 1000, from: 1000, end: { startedAt: 4990, endedAt: 5000 } as Write }

t.test('Failover: the time without a token is that of the node that had to wait longest after the fault', async (t) => {
  const answers = [answer(0, 100), answer(0, 990), answer(1, 1200), answer(0, 5500), answer(1, 5100), answer(0, 5600)]
  t.equal(figuresOf(answers, BACK).withoutToken, 4.51)
  const paused = [answer(0, -9000), answer(0, 990), answer(0, 1500), answer(0, 5200)]
  t.equal(figuresOf(paused, BACK).withoutToken, 3.7, 'a pause before it does not count')
})

t.test('Failover: the time to the first token begins when the new primary has written', async (t) => {
  const answers = [answer(0, 900), answer(1, 900), answer(0, 5020), answer(1, 6500), answer(1, 6600)]
  t.equal(figuresOf(answers, BACK).firstToken, 1.5)
  t.equal(figuresOf([answer(0, 4995)], BACK).firstToken, 0, 'a token that is faster than the probe')
  t.equal(figuresOf([answer(0, 900), answer(0, 5020), answer(1, 900)], BACK).firstToken, Infinity, 'never again')
  const end = { startedAt: 1050, endedAt: 5000 } as Write
  const early = figuresOf([answer(0, 1100), answer(0, 5300)], { at: 1000, from: 4000, end })
  t.equal(early.firstToken, 0.3, 'not a token from before the cluster could be back: the write waited for a standby')
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

const asked = { ...entry, revokeSentAt: 50 }
const revoked = { ...asked, revokedAt: 100 }

for (const [rule, of, cases] of [
  ['that was revoked before the check began is not accepted', revoked, { 200: 'acceptedLate' }],
  ['whose revocation was not asked for is not refused', entry, { 401: 'refusedWrongly' }],
  ['whose revocation was not answered may be valid or not', asked, {}],
] as [string, Entry, Record<number, string>][]) {
  t.test(`Failover: a token ${rule}`, async (t) => {
    for (const status of [200, 401, 503]) t.equal(wrongIn(of, status, 101), cases[status], String(status))
    t.equal(wrongIn(of, 200, 99), undefined, 'a check that began before the answer to the revocation')
  })
}
