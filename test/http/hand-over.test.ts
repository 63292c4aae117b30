import t, { type Test } from 'tap'
import { generateLinkCode } from '../../src/domain/operator.ts'
import { textOf, unescaped } from '../support/console-world.ts'
import { startDatabases } from '../support/postgres/postgres.ts'
import { shiftClock } from '../support/shift-clock.ts'
import { createWorld, createWorldWithFile } from '../support/world.ts'

const PATH = '/hand-over'
const HOUR = 3_600_000
const DAY = 24 * HOUR

/** A world with hand-over links, and one of them. */
async function createLinkedWorld(t: Test, options: Parameters<typeof createWorld>[1] = {}) {
  const world = await createWorld(t, { ...options, handsOver: true })
  const { administration, credentials, post } = world
  const { client_id: clientId } = credentials
  const { link } = await administration.handOvers.make(clientId, DAY)
  const [page, code = ''] = link.split('#')
  t.equal(page, `https://token.example${PATH}`)
  const use = (sent: string | Record<string, string> = { code }, headers = {}) => post(sent, headers, PATH)
  const count = async () => (await administration.listSecrets(clientId)).length
  return { ...world, clientId, link, code, use, count }
}

/** The secret that a page shows. */
const secretIn = (body: string) => /<code>([A-Za-z0-9]{40})<\/code>/.exec(body)?.[1] as string

t.test('Hand-over: a GET, as of a mail scanner, shows and changes nothing; the button shows a secret', async (t) => {
  const { app, use, count, post, credentials, clientId, administration, clock } = await createLinkedWorld(t)
  for (const method of ['GET', 'HEAD', 'GET'] as const) {
    const page = await app.inject({ method, url: `${PATH}?utm_source=mail` })
    t.equal(page.statusCode, 200)
    t.match(page.headers, { 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' })
    const policy = page.headers['content-security-policy']
    t.match(policy, /^default-src 'none'; style-src 'sha256-[^;]*; script-src 'sha256-/)
    t.notMatch(policy, /unsafe|http|\*/)
    t.notMatch(page.body, /https?:|Störe/)
  }
  t.equal(await count(), 1)
  clock.time += HOUR - 1000
  const { statusCode, headers, body } = await use()
  t.equal(statusCode, 200)
  t.match(headers, { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store' })
  t.match(textOf(body), `For the application Störe ✓ .`)
  t.match(unescaped(body), `--data-urlencode 'client_id=${clientId}'`)
  t.match(body, '2027-01-16 08:59 UTC')
  t.equal((await post({ ...credentials, client_secret: secretIn(body) })).statusCode, 200)
  t.equal((await post()).statusCode, 200, 'the old secret works for a day')
  t.match(await administration.listSecrets(clientId), [{ endsAt: clock.time + DAY }, { endsAt: null }])
})

t.test('Hand-over: the whole link may be pasted, and the other secrets may end at once', async (t) => {
  const { use, post, administration, clientId } = await createLinkedWorld(t)
  const { link } = await administration.handOvers.make(clientId, 0)
  t.equal((await use({ code: ` ${link} ` })).statusCode, 200)
  t.equal((await post()).statusCode, 401)
  await t.rejects(administration.handOvers.make('nobody', 0), { message: /no application with the client id nobody/ })
})

t.test('Hand-over: a link that was used, has ended or never was gets a page, and makes no secret', async (t) => {
  type World = Awaited<ReturnType<typeof createLinkedWorld>>
  type Case = [what: string, status: number, words: RegExp, spoil: (world: World) => unknown, sent?: object | string]
  const withdraw = ({ administration, clientId }: World) => administration.handOvers.withdraw(clientId, 1)
  const cases: Case[] = [
    ['used', 403, /was used or withdrawn/, ({ use }) => use()],
    ['expired', 403, /has expired/, ({ clock }) => (clock.time += HOUR)],
    ['withdrawn', 403, /was used or withdrawn/, withdraw],
    ['of a suspended', 403, /does not work now/, ({ administration, clientId }) => administration.suspend(clientId)],
    ['of a removed', 403, /was used or withdrawn/, ({ administration, clientId }) => administration.remove(clientId)],
    ['incomplete', 403, /was used or withdrawn/, () => {}, { code: 'x' }],
    ['missing', 400, /The field code is missing/, () => {}, { other: 'x' }],
    ['repeated', 400, /more than once/, () => {}, 'code=a&code=b'],
    ['too long', 413, /too large/, () => {}, { code: 'x'.repeat(9000) }],
  ]
  for (const [what, status, words, spoil, sent] of cases) {
    const world = await createLinkedWorld(t)
    await spoil(world)
    const before = await world.store.listOwnedSecrets({ limit: 10 })
    const { statusCode, headers, body } = await world.use(sent as Record<string, string>)
    t.strictSame([statusCode, headers['content-type']], [status, 'text/html; charset=utf-8'], what)
    t.match(headers['content-security-policy'], /default-src 'none'/)
    t.match(textOf(body), words, what)
    t.match(body, status === 403 ? '<h1>This link no longer works' : '<h1>This did not work')
    t.strictSame(await world.store.listOwnedSecrets({ limit: 10 }), before)
    t.notMatch(world.lines.join(''), world.code)
  }
})

t.test('Hand-over: of two at the same time one gets the secret', async (t) => {
  const { use, count, store } = await createLinkedWorld(t)
  const { findHandOverLink: find } = store
  const both = Promise.withResolvers<void>()
  let found = 0
  store.findHandOverLink = async (digest) => {
    const link = await find(digest)
    if (++found === 2) both.resolve()
    await both.promise
    return link
  }
  const statuses = (await Promise.all([use(), use()])).map(({ statusCode }) => statusCode)
  t.strictSame(statuses.sort(), [200, 403])
  t.equal(await count(), 2)
})

t.test('Hand-over: guessed codes count per address like wrong secrets, and get 429', async (t) => {
  const { use, post, logged, app, clock } = await createLinkedWorld(t)
  const guess = generateLinkCode(clock.time + HOUR)
  for (let n = 0; n < 10; n++) t.equal((await use({ code: guess })).statusCode, 403)
  const line = { msg: 'authentication refused', reason: 'unknown hand-over link', endpoint: PATH, status: 403 }
  t.match(logged().at(-1), line)
  const { statusCode, headers, body } = await use({ code: guess })
  t.strictSame([statusCode, headers['retry-after']], [429, '6'])
  t.match(body, 'Too many wrong')
  t.equal((await post()).statusCode, 200, 'applications of that address get tokens')
  const form = { method: 'POST', url: PATH, headers: { 'content-type': 'application/x-www-form-urlencoded' } } as const
  const other = await app.inject({ ...form, payload: `code=${guess}`, remoteAddress: '192.0.2.7' })
  t.equal(other.statusCode, 403, 'of another address')
  t.equal((await use()).statusCode, 200, 'the right code works meanwhile')
  clock.monotonic += 6000
  t.equal((await use({ code: guess })).statusCode, 403)
})

t.test('Hand-over: the log and the audit name the operator and the recipient, never code or secret', async (t) => {
  const { use, code, link, clientId, lines, logged, changes, store, credentials } = await createLinkedWorld(t)
  const secret = secretIn((await use({ code }, { 'x-request-id': 'asked' })).body)
  const author = { actor: 'tester', origin: 'hand-over link', request_id: 'asked', remote_address: '127.0.0.1' }
  t.match(logged().at(-1), { msg: 'hand-over link used', client_id: clientId, link_id: 1, ...author })
  t.match(changes.at(-1), { type: 'hand-over link made', clientId, linkId: 1, actor: 'tester' })
  const [event] = await store.listAuditEvents({ limit: 1 })
  t.match(event, { action: 'hand-over link used', actor: 'tester', remoteAddress: '127.0.0.1', requestId: 'asked' })
  await use()
  const stored = [await store.listAuditEvents({ limit: 9 }), await store.listHandOverLinks(clientId)]
  const kept = JSON.stringify([lines, changes, ...stored])
  for (const hidden of [code, link, secret, credentials.client_secret]) t.notOk(kept.includes(hidden))
})

t.test('Hand-over: if the store cannot commit, or has moved, the page says so, and the link stays', async (t) => {
  const options = { lockTimeout: 0, handsOver: true }
  const { administration, credentials, post, other, store } = await createWorldWithFile(t, options)
  const code = (await administration.handOvers.make(credentials.client_id, 0)).link.split('#')[1] as string
  other.exec('BEGIN IMMEDIATE')
  const busy = await post({ code }, {}, PATH)
  t.strictSame([busy.statusCode, busy.headers['retry-after']], [503, '5'])
  t.match(busy.body, 'The server cannot do this now; try again.')
  other.exec('ROLLBACK')
  t.equal((await store.listHandOverLinks(credentials.client_id)).length, 1)
  other.prepare('INSERT INTO moved (place, began_at, copied_at) VALUES (?, 1, 1)').run('elsewhere')
  t.equal((await post({ code }, {}, PATH)).statusCode, 503)
  t.equal((await post()).statusCode, 200)
})

t.test('Hand-over: it is off by default', async (t) => {
  const { app, post } = await createWorld(t)
  t.equal((await app.inject({ url: PATH })).statusCode, 404)
  t.equal((await post({ code: 'x' }, {}, PATH)).statusCode, 404)
})

t.test('Hand-over: while the clocks of server and database differ, a link with an overlap stays', async (t) => {
  const { createDatabase } = await startDatabases()
  const { use, count } = await createLinkedWorld(t, { databaseUrl: await createDatabase() })
  await t.test('the clock is behind', async (t) => {
    shiftClock(t, -2 * HOUR)
    t.equal((await use()).statusCode, 503)
    t.equal(await count(), 1)
  })
  t.equal((await use()).statusCode, 200)
  t.equal(await count(), 2)
})
