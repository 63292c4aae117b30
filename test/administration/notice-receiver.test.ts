import { createHmac } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { postNotice, type ReceiverFiles, readReceiver } from '../../src/administration/notice-receiver.ts'
import { OperatorError } from '../../src/domain/operator-error.ts'
import { startReceiver } from '../support/notice.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { START } from '../support/world.ts'

const MESSAGE = { messageId: 'msg_1', body: '{"text":"Störe ✓","event":"began"}' }
const KEY = Buffer.from('a key of thirty-two bytes or so!')

/** The files with this URL and perhaps a secret. */
function filesOf(t: Test, url: string, secret?: string): ReceiverFiles {
  const folder = temporaryFolder(t)
  const write = (name: string, content: string) => {
    writeFileSync(join(folder, name), content)
    return join(folder, name)
  }
  return { urlFile: write('url', url), secretFile: secret === undefined ? undefined : write('secret', secret) }
}

const postTo = (t: Test, url: string, options: { signal?: AbortSignal; timeout?: number } = {}) =>
  postNotice(filesOf(t, url), MESSAGE, { now: START, ...options })

t.test('Receiver: a notice is signed as Standard Webhooks say', async (t) => {
  const { url, received, port } = await startReceiver(t)
  const files = filesOf(t, url, KEY.toString('base64'))
  const [host, answer] = [`127.0.0.1:${port}`, { problem: undefined, status: 204, retryAfter: undefined }]
  t.strictSame(await postNotice(files, MESSAGE, { now: START + 999 }), { ...answer, host, isSigned: true })
  t.strictSame(await postTo(t, url), { ...answer, host, isSigned: false })
  const [signed, plain] = received
  t.equal(signed?.text, MESSAGE.body)
  const signature = createHmac('sha256', KEY).update(`msg_1.1800000000.${MESSAGE.body}`).digest('base64')
  t.match(signed?.headers, {
    ...{ 'webhook-id': 'msg_1', 'webhook-timestamp': '1800000000', 'webhook-signature': `v1,${signature}` },
    ...{ 'content-type': 'application/json' },
  })
  t.match(plain?.headers, { 'webhook-id': 'msg_1', 'webhook-signature': undefined })
})

t.test(
  'Receiver: whatever but 2xx is a failure, redirects are not followed, and Retry-After is understood',
  async (t) => {
    const receiver = await startReceiver(t)
    const answers = async (status: number, headers = {}) => {
      receiver.answer = (response) => response.writeHead(status, headers).end('ok')
      return postTo(t, receiver.url)
    }
    t.match(await answers(200), { problem: undefined })
    t.match(await answers(500), { problem: 'it answered 500', retryAfter: undefined })
    t.match(await answers(429, { 'retry-after': '7' }), { problem: 'it answered 429', retryAfter: 7000 })
    const later = new Date(START + 9000).toUTCString()
    t.match(await answers(503, { 'retry-after': later }), { retryAfter: 9000 })
    t.match(await answers(429, { 'retry-after': 'soon' }), { retryAfter: undefined })
    const before = receiver.received.length
    const redirect = await answers(307, { location: receiver.url })
    t.match(redirect, { problem: 'it answered 307, a redirect, which is not followed' })
    t.equal(receiver.received.length, before + 1)
  },
)

t.test('Receiver: one that is down, slow or never stops talking is a failure or a success in time', async (t) => {
  const receiver = await startReceiver(t)
  receiver.answer = () => {}
  t.strictSame(await postTo(t, receiver.url, { timeout: 50 }), {
    problem: 'it did not answer within 0.05 s',
    host: `127.0.0.1:${receiver.port}`,
  })
  const stopping = new AbortController()
  receiver.answer = () => stopping.abort(new Error('stopping'))
  await t.rejects(postTo(t, receiver.url, { signal: stopping.signal }), { message: 'stopping' })
  receiver.answer = (response) => response.writeHead(200).write('endless')
  t.match(await postTo(t, receiver.url), { problem: undefined })
  receiver.answer = ({ socket }) => socket?.destroy()
  t.match(await postTo(t, receiver.url), { problem: /^(other side closed|read ECONNRESET|socket hang up)$/ })
  await receiver.close()
  t.match(await postTo(t, receiver.url), { problem: /^connect ECONNREFUSED 127\.0\.0\.1:\d+$/ })
})

t.test('Receiver: Google Chat, which refuses other fields, gets the text only', async (t) => {
  const bodies: unknown[] = []
  const { fetch } = globalThis
  t.teardown(() => Object.assign(globalThis, { fetch }))
  globalThis.fetch = async (_, init) => {
    bodies.push(init?.body)
    return new Response()
  }
  await postTo(t, 'https://chat.googleapis.com/v1/spaces/AAA/messages?key=K')
  await postTo(t, 'https://hooks.slack.com/services/T/B/X')
  t.strictSame(bodies, ['{"text":"Störe ✓"}', MESSAGE.body])
})

t.test('Receiver: an error that shows the URL is told by its code or name only', async (t) => {
  const { fetch } = globalThis
  t.teardown(() => Object.assign(globalThis, { fetch }))
  const url = 'https://a.example/hooks?key=S3CRET'
  const problemOf = async (error: Error) => {
    globalThis.fetch = () => Promise.reject(error)
    return (await postTo(t, url)).problem
  }
  const shown = new Error(`no way to ${url}`)
  t.equal(await problemOf(new TypeError('fetch failed', { cause: Object.assign(shown, { code: 'E_WAY' }) })), 'E_WAY')
  t.equal(await problemOf(new TypeError(`/hooks?key=S3CRET is wrong`)), 'TypeError')
  t.equal(await problemOf(new TypeError('no host')), 'no host')
})

const read = (t: Test, ...contents: [url: string, secret?: string | undefined]) => readReceiver(filesOf(t, ...contents))

t.test('Receiver: its files may end in a line break, and the secret may begin with whsec_', async (t) => {
  t.match(await read(t, 'https://a.example/x\n'), { url: { href: 'https://a.example/x' }, key: undefined })
  for (const text of [KEY.toString('base64'), `whsec_${KEY.toString('base64')}\n`])
    t.strictSame((await read(t, 'http://localhost:9/', text)).key, KEY)
})

t.test('Receiver: a file that is missing or wrong is named, but nothing that is in it', async (t) => {
  const wrong: [url: string, secret: string | undefined, message: RegExp][] = [
    ['', undefined, /^NOTICE_URL_FILE, \/.*\/url, must have an https URL/],
    ['http://hooks.example/S3CRET', undefined, /^NOTICE_URL_FILE, .* must have an https URL/],
    ['ftp://hooks.example/S3CRET', undefined, /^NOTICE_URL_FILE, /],
    ['S3CRET', undefined, /^NOTICE_URL_FILE, /],
    ['https://user:S3CRET@a.example/x', undefined, /^NOTICE_URL_FILE, .* must have a URL without a user and/],
    ['https://:S3CRET@a.example/x', undefined, /^NOTICE_URL_FILE, .* must have a URL without a user and/],
    ['https://a.example', 'S3CRET', /^NOTICE_SECRET_FILE, \/.*\/secret, must have 24 to 64 bytes in base64/],
    ['https://a.example', `whsec_${'S3CRET!'.repeat(6)}`, /^NOTICE_SECRET_FILE, /],
    ['https://a.example', Buffer.alloc(65, 'S3CRET').toString('base64'), /^NOTICE_SECRET_FILE, /],
  ]
  for (const [url, secret, message] of wrong) {
    const error = await read(t, url, secret).catch((error) => error)
    t.match(error, { message })
    t.ok(error instanceof OperatorError)
    t.notMatch(error.message, /S3CRET/)
    t.strictSame(await postNotice(filesOf(t, url, secret), MESSAGE, { now: START }).then(({ host }) => host), undefined)
  }
  const missing = readReceiver({ urlFile: '/nowhere/url', secretFile: undefined })
  await t.rejects(missing, { message: 'NOTICE_URL_FILE, /nowhere/url, cannot be read: ENOENT.' })
})
