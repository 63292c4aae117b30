import { generateKeyPairSync } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import t from 'tap'
import { command, register, run, startServer } from '../support/spawn.ts'
import { temporaryDatabase } from '../support/temporary-database.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { until } from '../support/until.ts'

t.test('Serve: it migrates, issues, sees what commands change, and finishes its requests on SIGTERM', async (t) => {
  const { env, file } = temporaryDatabase(t)
  const server = await startServer(t, { ...env, LOG_LEVEL: 'debug' })
  t.match(server.logged('ready'), [{ address: server.address, database: file }])
  const credentials = await register(env)
  const { status, body } = await server.token(credentials)
  t.equal(status, 200)
  t.equal(await server.statusOf('/v1/oauth/verify', body.access_token), 200)
  const healthcheck = await run(['healthcheck'], { env: { PORT: new URL(server.address).port } })
  t.match(healthcheck, { status: 0, out: 'The server is ready.\n' })
  for (const [action, verdict] of Object.entries({ suspend: 401, resume: 200 })) {
    t.equal((await run(['apps', action, credentials.client_id], { env })).status, 0)
    t.equal(await server.issue(credentials), verdict, `${action}: the next token request`)
    t.equal(await server.statusOf('/v1/oauth/verify', body.access_token), verdict, `${action}: the next check`)
  }

  // More than are logged one by one.
  await Promise.all(Array.from({ length: 110 }, () => server.statusOf('/v1/oauth/verify', 'unknown')))
  const finish = await server.beginToken(credentials)
  server.child.kill('SIGTERM')
  await until(() => server.logged('stopping').length === 1)
  await t.rejects(server.token(credentials), 'no new connection is accepted')
  t.equal((await finish()).status, 200)
  t.strictSame(await server.exited, { status: 0, signal: null })
  t.strictSame([server.messages()[0], server.messages().at(-1)], ['ready', 'stopped'])
  t.match(server.logged('refusals not logged'), [{ count: Number }], 'what was only counted is reported at the end')
  t.equal(server.logged('token issued').length, 3, 'the log is complete at the exit')
})

t.test('Serve: the newest audit event is in the log at the start, signed with AUDIT_KEY_FILE', async (t) => {
  const { env, folder } = temporaryDatabase(t)
  await register(env)
  const AUDIT_KEY_FILE = `${folder}/key.pem`
  const wrong = await command(t, ['serve'], { ...env, AUDIT_KEY_FILE })
  t.match(wrong, { status: 1, err: `AUDIT_KEY_FILE, ${AUDIT_KEY_FILE}, cannot be read: ENOENT.\n` })
  const { privateKey } = generateKeyPairSync('ed25519')
  writeFileSync(AUDIT_KEY_FILE, privateKey.export({ type: 'pkcs8', format: 'pem' }))
  const { logged } = await startServer(t, { ...env, AUDIT_KEY_FILE })
  await until(() => logged('audit head').length === 1)
  const [line] = logged('audit head')
  t.match(line, { id: 1, hash: /^[\w-]{43}$/, signature: /==$/ })
  const verified = await run(['audit', 'verify', '--head', '-'], { env, stdin: JSON.stringify(line) })
  t.match(verified, { status: 0, out: /Event 1 is that of the head\.\n$/ }, 'the line can be given to audit verify')
})

t.test('Serve: wrong settings stop it with a sentence for each, and status 1', async (t) => {
  const folder = temporaryFolder(t)
  // The environment comes before the file.
  writeFileSync(`${folder}/.env`, 'PROT=1\nPORT=x\nLOG_LEVEL=info\n')
  t.strictSame(await command(t, ['serve'], { LOG_LEVEL: 'y' }, '', { cwd: folder }), {
    status: 1,
    out: '',
    err:
      'Warning: There is no setting PROT (in .env). Did you mean PORT?\nPORT must be a number from 0 to 65535. It is "x" in .env.\n' +
      'LOG_LEVEL must be debug, info, warn, error, fatal or silent. It is "y" in the environment.\n',
  })
})
