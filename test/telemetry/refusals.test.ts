import t from 'tap'
import type { Event } from '../../src/domain/events.ts'
import type { NewRefusedRequest, RefusalCount } from '../../src/domain/refusal.ts'
import { createRefusals } from '../../src/telemetry/refusals.ts'
import { heapUsed } from '../support/heap-used.ts'
import { refusal } from '../support/refusal.ts'
import { START } from '../support/world.ts'

const endpoint = '/v1/oauth/accesstoken'
const asked = { status: 401, endpoint, remoteAddress: '192.0.2.1', requestId: 'r1', traceId: 't1' }
const wrongSecret = { type: 'authentication refused', reason: 'wrong secret', clientId: 'a', ...asked } as const
const unknownClient = { ...wrongSecret, reason: 'unknown client', clientId: 'abcd... (9 characters)' } as const
const ofAToken = { type: 'token refused', suite: 'store', clientId: 'a', tokenId: undefined, ...asked } as const
const expired = { ...ofAToken, reason: 'expired token' } as const

/** Refusals with a clock, and a store that keeps what it is given in pieces. */
function createWorld() {
  const clock = { time: START }
  const refusals = createRefusals({ now: () => clock.time, count: () => {} })
  const see = (...events: Event[]) => events.forEach(refusals.observe)

  /** What the next flush gives to the store. */
  async function flush() {
    const counts: RefusalCount[] = []
    const requests: NewRefusedRequest[] = []
    await refusals.flush({
      recordRefusals: async (step) => void counts.push(...step),
      recordRefusedRequests: async (step) => void requests.push(...step),
    })
    return { counts, requests }
  }

  return { clock, refusals, see, flush, flushed: async () => (await flush()).counts }
}

t.test('Refusals: those of one client, reason, endpoint, suite and address are one, of the last request', async (t) => {
  const { clock, see, flushed } = createWorld()
  see(wrongSecret)
  clock.time += 1000
  const last = { requestId: 'r2', traceId: 't2' }
  see({ ...wrongSecret, ...last })
  t.strictSame(await flushed(), [refusal('a', { count: 2, lastAt: START + 1000, ...last })])
  t.strictSame(await flushed(), [], 'once')

  see({ ...wrongSecret, endpoint: '/v1/oauth/revoke' }, wrongSecret, { ...wrongSecret, clientId: 'b' })
  see({ ...wrongSecret, reason: 'expired secret' }, { ...wrongSecret, remoteAddress: '192.0.2.2' })
  see(expired, { ...expired, suite: 'other' }, expired)
  t.strictSame((await flushed()).map(({ count }) => count).sort(), [1, 1, 1, 1, 1, 1, 2])
})

t.test('Refusals: of each kind of event those are kept of which the client is known, or looks like one', async (t) => {
  const { see, flushed } = createWorld()
  const quota: Event = { type: 'quota refusal', clientId: 'a', ...asked, status: 429 }
  const malformed: Event = { type: 'request refused', reason: 'field missing', field: 'x', clientId: 'a', ...asked }
  see(wrongSecret, unknownClient, expired, quota, malformed)
  t.match(await flushed(), [
    { clientId: 'a', isKnown: true, reason: 'wrong secret', suite: undefined },
    { clientId: 'a', isKnown: true, reason: 'expired token', suite: 'store' },
    { clientId: 'a', isKnown: true, reason: 'token quota exceeded' },
    { clientId: 'a', isKnown: true, reason: 'field missing' },
    { clientId: 'abcd... (9 characters)', isKnown: false, reason: 'unknown client' },
  ])
  const noCredentials = { ...wrongSecret, reason: 'no credentials' } as const
  for (const event of [noCredentials, { ...expired, suite: undefined }, malformed])
    see({ ...event, clientId: undefined })
  see({ type: 'stopped' }, { type: 'usage not recorded', err: new Error('full') })
  t.strictSame(await flushed(), [])
  see({ ...malformed, endpoint: undefined })
  t.match(await flushed(), [{ endpoint: 'other' }])
})

t.test('Refusals: checks of tokens of no application count for the suite, from all addresses together', async (t) => {
  const { see, flushed } = createWorld()
  const unknownToken = { ...ofAToken, reason: 'unknown token', clientId: undefined } as const
  for (let n = 0; n < 30; n++) see({ ...unknownToken, remoteAddress: `192.0.2.${n}` })
  see({ ...unknownToken, reason: 'malformed token' })
  const row = { clientId: 'store', isKnown: true, suite: 'store', remoteAddress: '' }
  t.match(await flushed(), [
    { ...row, reason: 'unknown token', count: 30 },
    { ...row, reason: 'malformed token', count: 1 },
  ])
})

t.test('Refusals: what happened longest ago goes where there is no room', async (t) => {
  const { see, flushed } = createWorld()
  for (let n = 0; n < 30; n++) see({ ...wrongSecret, remoteAddress: `192.0.2.${n}` })
  see({ ...wrongSecret, remoteAddress: '192.0.2.10' })
  for (let n = 0; n < 110; n++) see({ ...unknownClient, remoteAddress: `192.0.2.${n}` })
  const kept = await flushed()
  const addresses = (isKnown: boolean) =>
    kept.filter((row) => row.isKnown === isKnown).map(({ remoteAddress }) => Number(remoteAddress.split('.')[3]))
  t.strictSame(addresses(true), [...Array.from({ length: 19 }, (_, n) => n + 11), 10])
  const unknown = Array.from({ length: 100 }, (_, n) => n + 10)
  t.strictSame(addresses(false), unknown)
  t.equal(kept.find(({ remoteAddress, isKnown }) => isKnown && remoteAddress === '192.0.2.10')?.count, 2)
})

t.test('Refusals: those that are only reported replace no real ones', async (t) => {
  const { see, flushed } = createWorld()
  see(wrongSecret)
  const reported = {
    ...wrongSecret,
    type: 'request would be refused',
    reason: 'address not allowed (report only)',
  } as const
  for (let n = 0; n < 30; n++) see({ ...reported, remoteAddress: `192.0.2.${n}` })
  const kept = await flushed()
  t.equal(kept.length, 21)
  t.match(kept[0], { reason: 'wrong secret' })
})

t.test('Refusals: so many of a client, of unknown clients and of all are kept, and no more', async (t) => {
  const { see, flushed } = createWorld()
  const address = (n: number) => `10.0.${n >> 8}.${n & 255}`
  for (let n = 0; n < 1000; n++) {
    see({ ...wrongSecret, remoteAddress: address(n) })
    see({ ...unknownClient, clientId: `${n % 100}... (${n} characters)`, remoteAddress: address(n) })
  }
  t.equal((await flushed()).length, 120)
  for (let n = 0; n < 3000; n++) see({ ...wrongSecret, clientId: `client ${n}`, remoteAddress: address(n) })
  const kept = await flushed()
  t.equal(kept.length, 1000)
  t.match(kept.at(-1), { clientId: 'client 2999' }, 'the newest')
})

t.test('Refusals: what could not be stored is stored later, and nothing twice', async (t) => {
  const { refusals, clock, see, flushed } = createWorld()
  for (let n = 0; n < 600; n++) see({ ...wrongSecret, clientId: `client ${n}` })
  const stored: RefusalCount[] = []
  const failing = async (step: readonly RefusalCount[]) => {
    if (stored.length > 0) {
      clock.time += 1000
      see({ ...wrongSecret, clientId: 'client 599', requestId: 'r2' })
      throw new Error('full')
    }
    stored.push(...step)
  }
  const flushing = refusals.flush({ recordRefusals: failing, recordRefusedRequests: async () => {} })
  await t.rejects(flushing, { message: 'full' })
  t.equal(stored.length, 50)
  const later = await flushed()
  t.strictSame(new Set([...stored, ...later].map(({ clientId }) => clientId)).size, 600)
  t.equal(later.length, 550)
  t.match(later.at(-1), { clientId: 'client 599', count: 2, firstAt: START, lastAt: START + 1000, requestId: 'r2' })
})

t.test('Refusals: of requests their words are kept, and not all of the request', async (t) => {
  const { see, flushed } = createWorld()
  const partOfMuch = (text: string) => `${text}${'x'.repeat(16_000)}`.slice(0, text.length)
  const before = heapUsed()
  for (let n = 0; n < 2000; n++) {
    const clientId = partOfMuch(`the-client-of-number-${n % 1000}`)
    const remoteAddress = partOfMuch(`192.168.100.${100 + Math.floor(n / 1000)}`)
    see({ ...expired, clientId, remoteAddress, suite: partOfMuch('product-information') })
    see({ ...unknownClient, clientId: partOfMuch(`a\nb... (${10_000 + n} characters)`), remoteAddress })
  }
  t.ok(heapUsed() - before < 4 * 1024 * 1024)
  t.equal((await flushed()).length, 2000 + 100)
})

t.test('Refusals: a flush of very many lets others have their turn', async (t) => {
  const { see, refusals } = createWorld()
  for (let n = 0; n < 2000; n++) see({ ...wrongSecret, clientId: `${n % 100}`, remoteAddress: `${n}` })
  const stored: RefusalCount[] = []
  let turns = 0
  let isOver = false
  const recordRefusals = async (step: readonly RefusalCount[]) => void stored.push(...step)
  const flushing = refusals.flush({ recordRefusals, recordRefusedRequests: async () => {} })
  void flushing.then(() => (isOver = true))
  for (; !isOver; turns++) await new Promise(setImmediate)
  t.equal(stored.length, 2000)
  t.ok(turns >= 40, `${turns} turns`)
})

t.test('Refused requests: each is kept with its request id, also of failures and of unnamed callers', async (t) => {
  const { clock, see, flush } = createWorld()
  const err = new Error('gone')
  const failed: Event = { type: 'request failed', reason: 'store unavailable', err, ...asked, status: 503 }
  const nobody = { ...wrongSecret, reason: 'no credentials', clientId: undefined, requestId: 'r2' } as const
  see(failed)
  for (const event of [nobody, wrongSecret, { ...expired, clientId: undefined, requestId: 'r3' }]) {
    clock.time += 1
    see(event)
  }
  const { counts, requests } = await flush()
  const from = { remoteAddress: '192.0.2.1' }
  t.match(requests, [
    { at: START, requestId: 'r1', reason: 'store unavailable', clientId: undefined },
    { at: START + 1, requestId: 'r2', reason: 'no credentials', clientId: undefined },
    { at: START + 2, requestId: 'r1', reason: 'wrong secret', clientId: 'a', ...from, endpoint },
    { at: START + 3, requestId: 'r3', reason: 'expired token', clientId: undefined, suite: 'store', ...from },
  ])
  t.strictSame(counts.map(({ reason }) => reason).sort(), ['expired token', 'wrong secret'])
  t.strictSame((await flush()).requests, [], 'once')
})

t.test('Refused requests: in a flood the first of each client and address are kept', async (t) => {
  const { see, flush } = createWorld()
  for (let n = 0; n < 50; n++) see({ ...wrongSecret, requestId: `a${n}` }, { ...unknownClient, requestId: `u${n}` })
  const { requests } = await flush()
  t.equal(requests.length, 40)
  t.match(requests.slice(-2), [{ requestId: 'a19' }, { requestId: 'u19' }])
  for (let n = 0; n < 300; n++) {
    see({ ...wrongSecret, clientId: `client ${n}` }, { ...unknownClient, remoteAddress: `192.0.2.${n}` })
  }
  const { requests: many } = await flush()
  t.equal(many.length, 200)
  const known = many.filter(({ clientId }) => clientId?.startsWith('client'))
  t.equal(known.length, 100, 'the others do not take their room')
})

t.test('Refused requests: what could not be stored is stored later, the oldest first', async (t) => {
  const { refusals, see, flush } = createWorld()
  for (let n = 0; n < 25; n++) see({ ...wrongSecret, requestId: `r${n}` })
  const recordRefusedRequests = async () => {
    for (let n = 0; n < 25; n++) see({ ...wrongSecret, requestId: 'late' })
    throw new Error('full')
  }
  await t.rejects(refusals.flush({ recordRefusals: async () => {}, recordRefusedRequests }), { message: 'full' })
  const { requests } = await flush()
  const ids = requests.map(({ requestId }) => requestId)
  const first = Array.from({ length: 20 }, (_, n) => `r${n}`)
  t.strictSame(ids, first)
})
