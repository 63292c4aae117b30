import { spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import t from 'tap'
import { freePort } from '../support/free-port.ts'
import { noticeFiles, startReceiver } from '../support/notice.ts'
import { run } from '../support/spawn.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { until } from '../support/until.ts'

const test = (env: NodeJS.ProcessEnv, ...options: string[]) => run(['notices', 'test', ...options], { env })

const SECRET = `whsec_${Buffer.alloc(32, 'k').toString('base64')}`

t.test('notices test: it says which host took the notice, and what it answered', async (t) => {
  const { url, received, port } = await startReceiver(t)
  const host = `127.0.0.1:${port}`
  const { out, status } = await test(noticeFiles(t, url))
  t.strictSame([out, status], [`${host} took the notice: it answered 204. It was not signed.\n`, 0])
  t.strictSame(received[0]?.json, {
    text: 'token-server: this is a test. What needs attention will be posted here.',
    event: 'test',
  })
  const json = JSON.parse((await test(noticeFiles(t, url, SECRET), '--json')).out)
  t.strictSame(json, { host, status: 204, webhook_id: received[1]?.headers['webhook-id'], signed: true })
  t.match(received[1]?.headers['webhook-signature'], /^v1,/)
})

t.test('notices test: it says why there is no notice, and never shows the URL', async (t) => {
  const receiver = await startReceiver(t)
  receiver.answer = (response) => response.writeHead(404).end()
  const failed = await test(noticeFiles(t, receiver.url))
  const host = `127.0.0.1:${receiver.port}`
  t.strictSame([failed.err, failed.status], [`${host} did not take the notice: it answered 404.\n`, 1])
  await receiver.close()
  const down = await test(noticeFiles(t, receiver.url), '--json')
  t.match(JSON.parse(down.err), { error: new RegExp(`^${host} did not take the notice: connect ECONNREFUSED`) })
  const wrong = await test(noticeFiles(t, 'http://hooks.example/S3CRET'))
  t.match(wrong, { status: 1, err: /^NOTICE_URL_FILE, .* must have an https URL and nothing else/ })
  const known = await test(noticeFiles(t, 'https://user:K3Y@hooks.example/S3CRET'))
  t.match(known, { status: 1, err: /^NOTICE_URL_FILE, .* must have a URL without a user and a password\.$/m })
  t.match(await test({}), { status: 1, err: 'NOTICE_URL_FILE is none: name a file that has the URL.\n' })
  const lonely = await test({ NOTICE_SECRET_FILE: '/x' })
  t.match(lonely, { status: 1, err: /^NOTICE_SECRET_FILE must be none without NOTICE_URL_FILE\./ })
  for (const { out, err } of [failed, down, wrong, known]) t.notMatch(out + err, /S3CRET|K3Y/)
})

t.test('Monitoring: the receiver of the page takes signed notices and no others', async (t) => {
  const page = readFileSync(join(import.meta.dirname, '../../docs/operations/monitoring.md'), 'utf8')
  const [, code = ''] = /```js\n(.*?)```/s.exec(page) ?? []
  const port = await freePort()
  const file = join(temporaryFolder(t), 'receiver.mjs')
  writeFileSync(file, code)
  const env = { ...process.env, PORT: String(port), NOTICE_SECRET: SECRET }
  const child = spawn(process.execPath, [file], { env, stdio: ['ignore', 'pipe', 'inherit'] })
  t.teardown(() => child.kill('SIGKILL'))
  const lines: string[] = []
  createInterface(child.stdout).on('line', (line) => lines.push(line))
  const url = `http://127.0.0.1:${port}/`
  await until(async () => (await test(noticeFiles(t, url, SECRET))).status === 0)
  await until(() => lines.length === 1)
  t.equal(lines[0], 'token-server: this is a test. What needs attention will be posted here.')
  const other = Buffer.alloc(32, 'x').toString('base64')
  for (const secret of [undefined, other]) t.match(await test(noticeFiles(t, url, secret)), { err: /it answered 401/ })
  t.equal(lines.length, 1)
})
