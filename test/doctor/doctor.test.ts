import { generateKeyPairSync } from 'node:crypto'
import { chmodSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { diagnose } from '../../src/doctor/doctor.ts'
import { type Check, error, note, ok, runAll, sizeText, warning, worst, worstLast } from '../../src/doctor/finding.ts'
import {
  checkClock,
  checkDisk,
  checkLimits,
  checkProgram,
  diskFindings,
  versionFindings,
} from '../../src/doctor/machine.ts'
import { OperatorError } from '../../src/domain/operator-error.ts'
import { StoreUnavailable } from '../../src/domain/store.ts'
import { freePort } from '../support/free-port.ts'
import { startProvider } from '../support/provider.ts'
import { startRecorder } from '../support/recorder.ts'
import { startShell } from '../support/shell.ts'
import { temporaryDatabase } from '../support/temporary-database.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

/** What is looked at with these settings, each subject once, and the texts of what is wrong. */
async function look(env: NodeJS.ProcessEnv) {
  const source = { env: { PORT: '0', ...env }, file: {}, fileName: '.env', warnings: [], errors: [] }
  const found = await diagnose(source, Date.now)
  const errors = found.filter(({ level }) => level === 'error')
  return { subjects: [...new Set(found.map(({ subject }) => subject))], errors }
}

t.test('Doctor: what is looked at depends on where the store is, and on which settings are right', async (t) => {
  const { env } = temporaryDatabase(t)
  const cases: [settings: NodeJS.ProcessEnv, subjects: string[]][] = [
    [env, ['disk', 'store', 'server']],
    [{ DATABASE_URL: 'postgres://u@127.0.0.1:1/d' }, ['password', 'store', 'server']],
    [{ ...env, ADMIN_ADDRESS: 'unix:/nowhere/admin.sock' }, ['disk', 'store', 'server', 'admin']],
    [{ ...env, OPS_ADDRESS: '127.0.0.1:0' }, ['disk', 'store', 'server', 'ops']],
    [{ DATABASE_URL: 'sqlite::memory:' }, ['server']],
    [{ DATABASE_URL: 'nonsense' }, ['server']],
    [{ ...env, PORT: 'http' }, ['disk', 'store']],
    [{ ...env, HOST: '' }, ['disk', 'store']],
  ]
  for (const [settings, subjects] of cases) {
    const always = ['settings', 'program', 'limits', 'clock']
    t.strictSame((await look(settings)).subjects, [...always, ...subjects], JSON.stringify(settings))
  }
  const { errors } = await look({ DATABASE_URL: 'sqlite:/dev/null/store.db' })
  t.equal(errors.length, 1, 'what stops several checks is said once')
})

t.test('Doctor: the identity provider must answer, as the issuer that is set, and its secret be private', async (t) => {
  const { env } = temporaryDatabase(t)
  const { settings, close } = await startProvider(t)
  const { issuer, clientId, secretFile } = settings
  const look = async (OIDC_ISSUER = issuer) => {
    const provider = { OIDC_ISSUER, OIDC_CLIENT_ID: clientId, OIDC_CLIENT_SECRET_FILE: secretFile, OIDC_ADMINS: 'a=b' }
    const given = { ...env, ...provider, PORT: '0', ADMIN_ADDRESS: '127.0.0.1:0', ADMIN_URL: 'https://console.example' }
    const source = { env: given, file: {}, fileName: '.env', warnings: [], errors: [] }
    const found = await diagnose(source, Date.now)
    return found.filter(({ subject }) => subject === 'provider').map(({ level, text }) => `${level}: ${text}`)
  }
  const right = `ok: The identity provider ${issuer} answers. Its callback URL for this server is https://console.example/login/callback.`
  t.strictSame(await look(), [right, `ok: OIDC_CLIENT_SECRET_FILE, ${secretFile} (mode 600), is private.`])
  chmodSync(secretFile, 0o622)
  t.match(await look(`${issuer}/`.replace('127.0.0.1', 'localhost')), [
    /^error: The identity provider .* does not answer as expected: .*issuer/,
    /^warning: OIDC_CLIENT_SECRET_FILE.* can be changed by other users\.$/,
  ])
  rmSync(secretFile)
  await close()
  t.match(await look(), [/^error: .*(ECONNREFUSED|fetch failed)/, /^error: OIDC_CLIENT_SECRET_FILE, .* ENOENT\.$/])
})

t.test('Doctor: the files for notices are read, and what is in them is not shown', async (t) => {
  const { env } = temporaryDatabase(t)
  const folder = temporaryFolder(t)
  const [NOTICE_URL_FILE, NOTICE_SECRET_FILE] = [join(folder, 'url'), join(folder, 'secret')]
  const look = async (url: string, secret?: string) => {
    writeFileSync(NOTICE_URL_FILE, url, { mode: 0o600 })
    if (secret !== undefined) writeFileSync(NOTICE_SECRET_FILE, secret, { mode: 0o600 })
    const given = { ...env, NOTICE_URL_FILE, ...(secret !== undefined && { NOTICE_SECRET_FILE }) }
    const source = { env: { PORT: '0', ...given }, file: {}, fileName: '.env', warnings: [], errors: [] }
    const found = await diagnose(source, Date.now)
    t.notMatch(JSON.stringify(found), /S3CRET/)
    return found.filter(({ subject }) => subject === 'notices').map(({ level, text }) => `${level}: ${text}`)
  }
  const urlFile = `ok: NOTICE_URL_FILE, ${NOTICE_URL_FILE} (mode 600), is private.`
  t.strictSame(await look('https://hooks.example/S3CRET'), ['ok: Notices go to hooks.example.', urlFile])
  const secret = Buffer.alloc(32, 'k').toString('base64')
  const secretFile = `ok: NOTICE_SECRET_FILE, ${NOTICE_SECRET_FILE} (mode 600), is private.`
  t.strictSame((await look('https://hooks.example', secret)).slice(1), [urlFile, secretFile])
  t.match(await look('https://hooks.example', 'S3CRET'), [/^error: NOTICE_SECRET_FILE, .* must have 24 to 64 bytes/])
  t.match(await look('http://hooks.example/S3CRET'), [/^error: NOTICE_URL_FILE, .* must have an https URL/])
  t.match(await look(''), [/^error: NOTICE_URL_FILE, .* is empty\.$/])
})

t.test('Doctor: the key of AUDIT_KEY_FILE is read, and the newest audit event shown', async (t) => {
  const { env } = await startShell(t, ({ suites }) => suites.register({ suiteId: 'store', name: 'Store API' }))
  const AUDIT_KEY_FILE = join(temporaryFolder(t), 'key.pem')
  const look = async (content?: string | Buffer) => {
    if (content !== undefined) writeFileSync(AUDIT_KEY_FILE, content, { mode: 0o600 })
    const given = { PORT: '0', ...env, ...(content !== undefined && { AUDIT_KEY_FILE }) }
    const found = await diagnose({ env: given, file: {}, fileName: '.env', warnings: [], errors: [] }, Date.now)
    return found.filter(({ subject }) => subject === 'audit').map(({ level, text }) => `${level}: ${text}`)
  }
  const head = /^ok: The audit trail ends with event 1 of 20.*, whose hash is [\w-]{43}\.$/
  t.match(await look(), [head])
  const key = generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' })
  const file = `ok: AUDIT_KEY_FILE, ${AUDIT_KEY_FILE} (mode 600), is private.`
  t.match(await look(key), [head, 'ok: AUDIT_KEY_FILE has an Ed25519 key.', file])
  t.match(await look('S3CRET'), [head, /^error: AUDIT_KEY_FILE, .* must have an Ed25519 key/, file])
  t.match(await look(''), [head, /^error: AUDIT_KEY_FILE, .* is empty\.$/])
})

t.test('Doctor: a previous store that is missing, or none, is an error', async (t) => {
  const { env, file } = temporaryDatabase(t)
  const errors = async () => (await look({ ...env, PREVIOUS_DATABASE_URL: `sqlite:${file}.old` })).errors
  const text = `PREVIOUS_DATABASE_URL: there is no database at ${file}.old: correct the setting.`
  t.match(await errors(), [{ subject: 'store' }, { subject: 'previous', text }])
  writeFileSync(`${file}.old`, 'This is no database, however long it may be. '.repeat(100))
  t.match(await errors(), [{ subject: 'store' }, { subject: 'previous', text: /cannot be read: file is not a/ }])
})

t.test('Doctor: where a server runs and its database is gone, the last advice is not to make one', async (t) => {
  const { env, file } = temporaryDatabase(t)
  let status = 200
  const { address } = await startRecorder(t, (response) => response.writeHead(status).end())
  const [HOST, PORT] = address.split(':') as [string, string]
  const lost = { subject: 'server', advice: /^Do not start, restart or migrate: .* Put it back, or restore a backup/ }
  const lastError = async (port = PORT) => (await look({ ...env, HOST, PORT: port })).errors.at(-1)
  const text = `A server runs at http://${address}, but there is no database at ${file}`
  t.match(await lastError(), { ...lost, text })
  writeFileSync(file, '')
  t.match(await lastError(), lost, 'an empty file is none')
  t.match(await lastError(String(await freePort())), { text: /^No server answers at / })
  status = 404
  t.match(await lastError(), { text: /is not this server: 404/ }, 'another program')
  status = 200
  const other = await startShell(t)
  t.strictSame((await look({ ...other.env, HOST, PORT })).errors, [])
})

t.test('Doctor: a check that throws, or does not end, is a finding, and the others go on', async (t) => {
  const causes = [
    new OperatorError('There is no file.'),
    new StoreUnavailable('It is locked.'),
    Object.assign(new Error('EACCES: …'), { code: 'EACCES', path: '/x/y' }),
    Object.assign(new Error('EACCES: …'), { code: 'EACCES' }),
    new TypeError('x is not a function'),
  ]
  const findings = await runAll([
    ...causes.map((cause): Check => ['x', () => Promise.reject(cause)]),
    ['y', async () => [ok('All is well.'), note('But.', 'Look.')]],
  ])
  const notAllowed = `This process, uid ${process.getuid?.()}, has no access to files in /x.`
  const x = { subject: 'x', level: 'error' }
  t.strictSame(findings, [
    { ...x, text: 'There is no file.' },
    { ...x, text: 'It is locked.' },
    { ...x, text: notAllowed, advice: "Run this as the server's user." },
    { ...x, text: 'The check failed: EACCES: ….' },
    { ...x, text: 'The check failed: x is not a function.' },
    { subject: 'y', level: 'ok', text: 'All is well.' },
    { subject: 'y', level: 'note', text: 'But.', advice: 'Look.' },
  ])
  const throws = () => {
    throw new OperatorError('At once.')
  }
  t.match(await runAll([['x', throws]]), [{ ...x, text: 'At once.' }])
  const late = await runAll([['x', () => new Promise<never>(() => {})]], { deadline: 20 })
  t.match(late, [{ ...x, text: 'The check did not end within 0.02 s.' }])
})

t.test('Doctor: the worst finding counts, and is the last that people see', async (t) => {
  const [good, remark, doubt, bad] = [ok('a'), note('b'), warning('c'), error('d')]
  const levels = [[], [good, remark], [doubt, good, remark], [bad, good, doubt]].map(worst)
  t.strictSame(levels, ['ok', 'note', 'warning', 'error'])
  t.strictSame(worstLast([bad, good, doubt, remark]), [good, remark, doubt, bad])
})

const MIB = 1024 ** 2

t.test('Doctor: the versions of what this runs on are right, and older ones are errors', async (t) => {
  const levels = (await checkProgram()).map(({ level }) => level)
  t.strictSame(levels, ['ok', 'ok', 'ok'])
  const nodes = ['22.18.0', '24.2.0', '24.1.9', '24.30.0', '25.9.0', '26.0.0', '27.0.0'].map(
    (version) => versionFindings(version, '3.51.3')[0].level,
  )
  t.strictSame(nodes, ['ok', 'ok', 'error', 'ok', 'error', 'ok', 'error'])
  t.match(versionFindings('24.2.0', '3.51.3')[1], { level: 'ok' })
  t.match(versionFindings('24.2.0', '3.51.2')[1], { level: 'error', text: /can lose commits/ })
})

t.test('Doctor: few files are a warning; where the system does not tell how many, nothing is said', async (t) => {
  const file = join(temporaryFolder(t), 'limits')
  const limit = async (text: string) => {
    writeFileSync(file, `Limit                     Soft Limit           Hard Limit           Units\n${text}\n`)
    return (await checkLimits(file)).map(({ level }) => level)
  }
  t.strictSame(await limit('Max open files            1024                 524288               files'), ['warning'])
  t.strictSame(await limit('Max open files            4096                 524288               files'), ['ok'])
  t.strictSame(await limit('Max open files            unlimited            unlimited            files'), ['ok'])
  t.strictSame(await limit('nothing'), [])
  t.strictSame(await checkLimits(join(file, 'missing')), [])
})

t.test('Doctor: a clock that cannot be right is an error', async (t) => {
  const levels = [0, Date.UTC(2025, 11, 31), Date.now(), Date.UTC(2100, 0)].map((time) => checkClock(time)[0]?.level)
  t.strictSame(levels, ['error', 'error', 'ok', 'error'])
})

t.test('Doctor: little room on a disk is a warning, next to none an error', async (t) => {
  const judge = (free: number, { used = 0, inodes = 1_000_000, freeInodes = 100_000 } = {}) =>
    diskFindings('/data', { used, free, inodes, freeInodes })[0]
  t.match(judge(99 * MIB), { level: 'error', text: '99 MiB are free on the disk of /data.' })
  t.match(judge(1000 * MIB), { level: 'warning' })
  t.match(judge(2048 * MIB), { level: 'ok', text: '2.0 GiB are free on the disk of /data.' })
  t.match(judge(2048 * MIB, { inodes: 0, freeInodes: 0 }), { level: 'ok' })
  t.match(judge(2048 * MIB, { used: 3000 * MIB }), { level: 'warning', advice: /no space for a backup/ })
  t.match(judge(2048 * MIB, { freeInodes: 999 }), { level: 'error', text: /999 inodes left/ })
  t.match(judge(2048 * MIB, { freeInodes: 0 }), { level: 'error' })
})

t.test('Doctor: the disk of a folder that there is not is that of the nearest one', async (t) => {
  const file = join(temporaryFolder(t), 'a', 'b', 'store.db')
  t.match(await checkDisk({ kind: 'sqlite', file }), [{ text: / free on the disk of .*\/a\/b\.$/ }])
  await t.rejects(checkDisk({ kind: 'sqlite', file: join('/dev/null', 'a', 'store.db') }), { code: 'ENOTDIR' })
  const texts = [0, 1023, 1024, 10 * 1024, 1.5 * 1024 ** 3, 2000 * 1024 ** 4].map(sizeText)
  t.strictSame(texts.join(', '), '0 bytes, 1023 bytes, 1.0 KiB, 10 KiB, 1.5 GiB, 2000 TiB')
})
