import { join } from 'node:path'
import Database from 'better-sqlite3'
import t from 'tap'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { createWorld } from '../support/world.ts'

const MARK = 'S3CR3T'

t.test('Log: one line per token, with the client, the id of the token and the caller; never the token', async (t) => {
  const { post, lines, credentials } = await createWorld(t)
  const token = (await post()).json().access_token as string
  t.equal(lines.length, 1)
  const { level, client_id, token_id, remote_address, msg } = JSON.parse(lines[0] as string)
  t.match(
    { level, client_id, remote_address, msg },
    { client_id: credentials.client_id, remote_address: '127.0.0.1', msg: 'token issued' },
  )
  t.equal(token_id.replaceAll('-', ''), Buffer.from(token, 'base64url').subarray(0, 16).toString('hex'))
  t.notMatch(lines[0], token)
})

t.test("Log: a token's line says which of the client's secrets was shown", async (t) => {
  const { post, lines, credentials, administration } = await createWorld(t)
  const id = credentials.client_id
  const secretOf = async (client_secret: string, client_id = id) => {
    t.equal((await post({ ...credentials, client_id, client_secret })).statusCode, 200)
    return JSON.parse(lines.at(-1) as string).secret_id
  }
  const imported = { name: 'A', developerEmail: 'a@b.example', clientId: 'moved', clientSecret: `imported-${MARK}` }
  await administration.register(imported)
  const { clientSecret } = await administration.rotateSecret(id, 1000)
  const [first, second] = await administration.listSecrets(id)
  const [other] = await administration.listSecrets('moved')
  t.equal(await secretOf(credentials.client_secret), first?.id)
  t.equal(await secretOf(clientSecret), second?.id)
  t.equal(await secretOf(imported.clientSecret, 'moved'), other?.id, 'verified just now')
  t.equal(await secretOf(imported.clientSecret, 'moved'), other?.id, 'remembered')
})

t.test('Log: the address is the one that a trusted proxy tells, and nobody else', async (t) => {
  const addressOf = async (trustProxy: false | string[]) => {
    const { post, lines } = await createWorld(t, { trustProxy })
    await post(undefined, { 'x-forwarded-for': '203.0.113.9' })
    return JSON.parse(lines[0] as string).remote_address
  }
  t.equal(await addressOf(false), '127.0.0.1')
  t.equal(await addressOf(['10.0.0.0/8']), '127.0.0.1')
  t.equal(await addressOf(['127.0.0.1']), '203.0.113.9')
})

t.test('Log: no secret, no token, no query and no body ever reaches it', async (t) => {
  const file = join(temporaryFolder(t), 'store.db')
  const { app, post, lines, credentials, administration, store } = await createWorld(t, {
    databaseUrl: `sqlite:${file}`,
  })
  const imported = `imported-${MARK}`
  await administration.register({ name: 'A', developerEmail: 'a@b.example', clientId: 'moved', clientSecret: imported })
  const marked = { ...credentials, client_secret: MARK }
  const body = new URLSearchParams(credentials).toString()
  const answers: string[] = []
  const send = async (...args: Parameters<typeof post>) => answers.push((await post(...args)).body)

  await send()
  await send({ ...credentials, client_id: 'moved', client_secret: imported })
  await send({ ...credentials, extra: MARK, scope: MARK })
  await send(marked)
  await send({ ...marked, client_id: 'nobody' })
  await send({ ...credentials, client_id: `half-${MARK}`, client_secret: 'swapped' })
  await send({ ...credentials, client_id: credentials.client_secret, client_secret: credentials.client_id })
  await send({ ...marked, grant_type: MARK })
  await send({ ...marked, client_id: '' })
  await send(`${body}&client_secret=${MARK}`)
  await send(`${body}&${MARK}=1&${MARK}=2`)
  await send(`${MARK}&${MARK}`)
  await send(MARK)
  await send(`%${MARK}%zz=%ff`)
  await send(`{"client_secret":"${MARK}"}`, { 'content-type': 'application/json' })
  await send(body, { 'content-type': MARK })
  await send(body, { authorization: `Bearer ${MARK}`, cookie: MARK, 'x-secret': MARK })
  await send(body.padEnd(9000, MARK))
  await send(body, {}, `/v1/oauth/accesstoken?client_secret=${MARK}`)
  await send(body, {}, `/nowhere/${MARK}?client_secret=${MARK}`)
  await send(body, {}, `/%zz/${MARK}`)
  await app.inject({ method: 'PUT', url: `/v1/oauth/accesstoken?${MARK}`, payload: MARK })
  await app.inject(`/health/ready?${MARK}`)

  const { clientSecret } = await administration.registerSuite({ suiteId: 'store', name: 'Store API' })
  const token = JSON.parse(answers[0] as string).access_token as string
  const ask = (path: string, form: Record<string, string>, headers: Record<string, string> = {}) =>
    send({ client_id: 'store', client_secret: clientSecret, ...form }, headers, path)
  await ask('/v1/oauth/introspect', { token: MARK })
  await ask('/v1/oauth/introspect', { token })
  await ask('/v1/oauth/introspect', { client_secret: MARK, token })
  await ask('/v1/oauth/introspect', { token }, { authorization: `Basic ${btoa(`store:${MARK}`)}` })
  await send({ token }, { authorization: `Basic ${btoa(`${MARK}:${MARK}`)}` }, '/v1/oauth/introspect')
  await send({ token }, { authorization: `Basic ${MARK}` }, `/v1/oauth/introspect`)
  await send({ token }, {}, `/v1/oauth/introspect?token=${MARK}`)
  await send('', { authorization: `Bearer ${token}` }, `/v1/oauth/verify/store/${MARK}?${MARK}`)
  await send('', { authorization: `Bearer ${MARK}` }, `/v1/oauth/verify/${MARK}`)
  await send('', { authorization: `Bearer ${MARK}` }, '/v1/oauth/verify/store')
  await send('', { authorization: `Bearer ${MARK} ${MARK}` }, '/v1/oauth/verify/store')
  await ask('/v1/oauth/revoke', { client_id: credentials.client_id, client_secret: MARK, token })
  await ask('/v1/oauth/revoke', {
    client_id: credentials.client_id,
    client_secret: credentials.client_secret,
    token: MARK,
  })
  await ask('/v1/oauth/revoke', { client_id: credentials.client_id, client_secret: credentials.client_secret, token })

  const other = new Database(file)
  other.exec('ALTER TABLE secrets RENAME TO elsewhere')
  await send(marked)
  other.exec('ALTER TABLE elsewhere RENAME TO secrets; ALTER TABLE tokens RENAME TO elsewhere')
  await send()
  other.close()
  await store.close()
  await send(marked)

  const log = lines.join('')
  t.equal(lines.length, answers.length + 1, 'one line per request, none for health')
  t.notMatch(log, MARK)
  t.notMatch(log, credentials.client_secret)
  t.notMatch(log, clientSecret)
  const tokens = answers.flatMap((answer) => (answer === '' ? [] : (JSON.parse(answer).access_token ?? [])))
  t.equal(tokens.length, 3)
  for (const token of tokens) {
    t.notMatch(log, token)
    t.notMatch(log, token.slice(22))
  }
})

t.test('Log: a check that answers yes has a line for those who ask for details only', async (t) => {
  for (const logDetails of [false, true]) {
    const { app, post, token, lines, administration, credentials } = await createWorld(t, { logDetails })
    const { clientSecret } = await administration.registerSuite({ suiteId: 'store', name: 'Store API' })
    await administration.approve(credentials.client_id, 'store')
    const accessToken = await token()
    lines.length = 0
    const headers = { authorization: `Bearer ${accessToken}` }
    t.equal((await app.inject({ url: '/v1/oauth/verify/store', headers })).statusCode, 200)
    t.equal((await app.inject({ url: '/v1/oauth/verify', headers })).statusCode, 200)
    const form = { token: accessToken, client_id: 'store', client_secret: clientSecret }
    t.equal((await post(form, {}, '/v1/oauth/introspect')).statusCode, 200)
    const line = { client_id: credentials.client_id, remote_address: '127.0.0.1', msg: 'token accepted' }
    const expected = [{ ...line, suite: 'store' }, line, { ...line, suite: 'store' }]
    t.match(
      lines.map((text) => JSON.parse(text)),
      logDetails ? expected : [],
    )
    t.equal(lines.length, logDetails ? 3 : 0)
  }
})
