import t, { type Test } from 'tap'
import type { Event } from '../../src/domain/events.ts'
import type { Claims } from '../../src/domain/federation.ts'
import { createIssuerKeys } from '../../src/federation/keys.ts'
import { on } from '../support/on.ts'
import { answerOf, createSigner, credential, startIssuer } from '../support/workload-issuer.ts'
import { createWorld, START } from '../support/world.ts'

const MINUTE = 60_000
const [METADATA, KEYS] = ['/.well-known/openid-configuration', '/keys']

/** A store with a credential of an issuer, and how a process finds its keys. */
async function createKeyWorld(t: Test) {
  const { store, clock, credentials } = await createWorld(t)
  const platform = await startIssuer(t)
  const { issuer, state } = platform
  await on(store).addSecret(credentials.client_id, credential(issuer))
  const events: Event[] = []
  /** Another process on the same store. */
  const join = (timeout?: number) => {
    const observe = (event: Event) => void events.push(event)
    const options = { store, now: () => clock.time, observe, ...(timeout !== undefined && { timeout }) }
    const find = createIssuerKeys(options)
    return (name: string, header: Claims) => find(name, header, (step) => step())
  }
  const find = join()
  /** The ids of the keys for a JWT with this one. */
  const kids = async (kid?: string) => (await find(issuer, { kid }))?.keys.map((key) => key.kid)
  const later = (ms: number) => (clock.time += ms)
  /** How often the keys were asked for since the last call. */
  const asked = () => state.asked.splice(0).filter((path) => path === KEYS).length
  return { ...platform, store, clock, events, join, find, kids, later, asked, clientId: credentials.client_id }
}

t.test('Federation: keys are fetched when a JWT needs them, and again for an unknown one after a minute', async (t) => {
  const { kids, asked, later, state, find, events, issuer } = await createKeyWorld(t)
  t.equal(await find('https://other.example', {}), undefined, 'no credential names it')
  t.strictSame([await kids('first'), asked()], [['first'], 1])
  t.strictSame(
    [await kids('first'), await kids(undefined), await kids('x'), asked()],
    [['first'], ['first'], ['first'], 0],
  )
  const second = await createSigner('second')
  state.keys = [second.jwk]
  later(MINUTE - 1)
  t.strictSame([await kids('second'), asked()], [['first'], 0])
  later(1)
  const both = await Promise.all([kids('second'), kids('second')])
  t.strictSame([both, asked()], [[['second'], ['second']], 1], 'one fetch serves all that wait')
  t.match(events, [
    { type: 'issuer keys fetched', issuer, keys: 1 },
    { type: 'issuer keys fetched', issuer, keys: 1 },
  ])
})

t.test('Federation: keys older than ten minutes are used, and fetched again in the background', async (t) => {
  const { kids, asked, later, store, issuer, clock, events, state } = await createKeyWorld(t)
  await kids('first')
  later(10 * MINUTE - 1)
  t.strictSame([await kids('first'), asked()], [['first'], 1])
  later(1)
  state.answers[KEYS] = answerOf(200, { keys: [] })
  t.strictSame(await kids('first'), ['first'])
  const isAnswered = async () => (await store.findIssuer(issuer, clock.time))?.answeredAt === clock.time
  while (!(await isAnswered())) await new Promise(setImmediate)
  t.equal(asked(), 1)
  t.match(events.at(-1), { type: 'issuer keys not fetched', fetchedAt: new Date(START).toISOString() })
  state.answers = {}
  later(MINUTE)
  await kids('first')
  while (!(await isAnswered())) await new Promise(setImmediate)
  t.match(events.at(-1), { type: 'issuer keys fetched', keys: 1 }, 'that it works again is reported')
  later(10 * MINUTE)
  const { length } = events
  await kids('first')
  while (!(await isAnswered())) await new Promise(setImmediate)
  t.equal(events.length, length, 'nothing has changed')
})

t.test('Federation: a key that was withdrawn more than an hour after the last fetch is no longer used', async (t) => {
  const { kids, later, state } = await createKeyWorld(t)
  await kids('first')
  state.keys = [(await createSigner('second')).jwk]
  later(60 * MINUTE)
  t.strictSame(await kids('first'), ['second'])
})

t.test('Federation: keys are used for 24 hours while their issuer is away, by a new process, too', async (t) => {
  const { issuer, asked, later, join, stop, kids, events } = await createKeyWorld(t)
  await kids('first')
  stop()
  for (const hours of [1, 22]) {
    later(hours * 60 * MINUTE)
    t.strictSame((await join()(issuer, { kid: 'first' }))?.keys.length, 1, `${hours} h`)
  }
  later(59 * MINUTE + 59_999)
  t.strictSame(await kids('first'), ['first'])
  later(MINUTE)
  const problem = /keys|openid-configuration.*ECONNREFUSED/
  t.match(await join()(issuer, { kid: 'first' }), { keys: { length: 0 }, problem })
  t.equal(asked(), 1)
  t.ok(events.filter(({ type }) => type === 'issuer keys not fetched').length >= 3)
})

t.test(
  'Federation: a process waits for another one that fetches the keys, and no longer than the issuer may take',
  async (t) => {
    const { issuer, join, state, asked, store, clock, later } = await createKeyWorld(t)
    let answer = () => {}
    state.answers[KEYS] = (response) => {
      answer = () => answerOf(200, { keys: state.keys })(response)
    }
    const [one, other] = [join(), join()]
    const first = one(issuer, { kid: 'first' })
    while (!state.asked.includes(KEYS)) await new Promise(setImmediate)
    const second = other(issuer, { kid: 'first' })
    await new Promise((resolve) => setTimeout(resolve, 300))
    answer()
    t.match([await first, await second], [{ keys: [{ kid: 'first' }] }, { keys: [{ kid: 'first' }] }])
    t.equal(asked(), 1)
    later(MINUTE)
    await store.beginFetch(issuer, clock.time)
    t.match(
      await join(1)(issuer, { kid: 'x' }),
      { keys: [{ kid: 'first' }] },
      'it does not wait for a process that has died',
    )
  },
)

t.test('Federation: what is wrong with an issuer is said, and nothing is kept of it', async (t) => {
  const { issuer, state, join, later } = await createKeyWorld(t)
  const problemOf = async (answers: typeof state.answers, timeout?: number) => {
    later(MINUTE)
    state.answers = answers
    const found = await join(timeout)(issuer, { kid: 'first' })
    t.strictSame(found?.keys, [])
    return found?.problem
  }
  const metadata = (more: object) => ({ [METADATA]: answerOf(200, { issuer, jwks_uri: `${issuer}${KEYS}`, ...more }) })
  const hangs = () => {}
  const redirect = answerOf(302, '', { location: 'https://elsewhere.example/' })
  const endless: (typeof state.answers)[string] = (response) => {
    const write = () => response.write('x'.repeat(65536), () => response.destroyed || setImmediate(write))
    write()
  }
  for (const [answers, problem, timeout] of [
    [{ [METADATA]: answerOf(404) }, /openid-configuration.*: it answered 404$/],
    [{ [METADATA]: redirect }, /it answered 302/],
    [{ [METADATA]: answerOf(204) }, /it answered 204$/],
    [{ [METADATA]: answerOf(200, '<html>private') }, /openid-configuration": it answered no JSON$/],
    [{ [METADATA]: answerOf(200, 'null') }, /its issuer is not "https/],
    [metadata({ issuer: 'private' }), /openid-configuration": its issuer is not "https[^ ]*"$/],
    [metadata({ issuer: `${issuer}/` }), /its issuer is not/],
    [metadata({ jwks_uri: undefined }), /its jwks_uri is not an https URL$/],
    [metadata({ jwks_uri: `http://private` }), /openid-configuration": its jwks_uri is not an https URL$/],
    [metadata({ jwks_uri: 'https://127.0.0.1:1/keys' }), /127\.0\.0\.1:1\/keys": bad port/],
    [{ [KEYS]: answerOf(500) }, /\/keys": it answered 500$/],
    [{ [KEYS]: answerOf(200, '{"keys":[') }, /\/keys": it answered no JSON$/],
    [{ [KEYS]: answerOf(200, []) }, /\/keys": it is not a JWK Set/],
    [{ [KEYS]: answerOf(200, { keys: [{ kty: 'oct', k: 'AA' }] }) }, /private or a symmetric key/],
    [{ [KEYS]: answerOf(200, { keys: [] }) }, /no public key/],
    [{ [KEYS]: endless }, /more than 1048576 bytes/],
    [{ [KEYS]: hangs }, /timeout|aborted/, 300],
    [{ '*': (response: { destroy(): unknown }) => response.destroy() }, /other side closed|socket|ECONNRESET/],
  ] as const)
    t.match(await problemOf(answers as typeof state.answers, timeout), problem, String(problem))
  later(MINUTE)
  state.answers = {}
  t.match(await join()(issuer, { kid: 'first' }), { keys: [{ kid: 'first' }], problem: null })
})

t.test('Federation: keys stay known if the clock was set back, and are fetched again', async (t) => {
  const { kids, later, asked } = await createKeyWorld(t)
  await kids('first')
  later(-5 * MINUTE)
  t.strictSame([await kids('first'), asked()], [['first'], 1])
  later(-48 * 60 * MINUTE)
  t.strictSame([await kids('first'), asked()], [['first'], 1])
})
