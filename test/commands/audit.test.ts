import { writeFileSync } from 'node:fs'
import { hostname, userInfo } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { LINES } from '../../src/telemetry/audit-log.ts'
import { startDatabases } from '../support/postgres/postgres.ts'
import { run, runJson } from '../support/run.ts'
import { temporaryDatabase } from '../support/temporary-database.ts'

const REGISTER = ['apps', 'register', '--create', '--name', 'A', '--developer-email', 'a@b.example', '--client-id', 'a']

const { createDatabase } = await startDatabases()

t.test('Audit: every change by a command is one line with who made it, on standard error', async (t) => {
  const url = new URL(await createDatabase())
  const { env, ...rest } = temporaryDatabase(t)
  const options = { ...rest, env: { ...env, PGPASSWORD: url.password, ADMIN_ADDRESS: '127.0.0.1:8081' } }
  url.password = ''
  const to = url.href
  const copy = join(options.folder, 'copy.db')
  const secret = join(options.folder, 'secret')
  writeFileSync(secret, 'imported-secret')
  const actor = userInfo().username
  const changes: [args: string[], event: { msg: string; [field: string]: unknown }][] = [
    [['suites', 'register', 'store', '--name', 'Store API', '--create'], { msg: 'suite registered', suite: 'store' }],
    [['suites', 'update', 'store', '--name', 'Shop'], { msg: 'suite updated', suite: 'store', name: 'Shop' }],
    [REGISTER, { msg: 'application registered', client_id: 'a', name: 'A', suites: 'all' }],
    [
      ['apps', 'update', 'a', '--name', 'New', '--developer-email', 'new@b.example'],
      { msg: 'application updated', client_id: 'a', changed: ['name', 'developer_email'] },
    ],
    [['apps', 'suspend', 'a'], { msg: 'application suspended', client_id: 'a' }],
    [['apps', 'resume', 'a'], { msg: 'application resumed', client_id: 'a' }],
    [['apps', 'withdraw', 'a', '--suite', 'store'], { msg: 'approval withdrawn', client_id: 'a', suite: 'store' }],
    [['apps', 'approve', 'a', '--suite', 'store'], { msg: 'application approved', client_id: 'a', suite: 'store' }],
    [['secrets', 'rotate', 'a'], { msg: 'secret rotated', client_id: 'a', others_end_at: /^\d{4}-.*Z$/ }],
    [['secrets', 'revoke', 'a', '3'], { msg: 'secret revoked', client_id: 'a', secret_id: 3 }],
    [['apps', 'add-secret', 'a', '--client-secret-file', secret], { msg: 'secret added', client_id: 'a' }],
    [['tokens', 'revoke-all', 'a'], { msg: 'all tokens revoked', client_id: 'a' }],
    [['operators', 'add', 'anna', '--role', 'admin'], { msg: 'operator added', operator: 'anna', role: 'admin' }],
    [['operators', 'key', 'anna', '--expires', '90d'], { msg: 'operator key added', operator: 'anna', key_id: 1 }],
    [['console', 'anna'], { msg: 'login link made', operator: 'anna' }],
    [['operators', 'revoke-key', 'anna', '1'], { msg: 'operator key revoked', operator: 'anna', key_id: 1 }],
    [['operators', 'remove', 'anna'], { msg: 'operator removed', operator: 'anna' }],
    [['backup', copy], { msg: 'backup made', file: copy, without_tokens: false }],
    [['restore', copy], { msg: 'database restored', file: copy, replaced: /store\.db\.replaced-/ }],
    [['store', 'copy', '--to', to], { msg: 'database copied', moved_to: /^postgres:/, applications: 1 }],
    [['store', 'reopen'], { msg: 'database reopened', moved_to: /^postgres:/ }],
    [['apps', 'remove', 'a'], { msg: 'application removed', client_id: 'a' }],
    [['suites', 'remove', 'store'], { msg: 'suite removed', suite: 'store' }],
  ]
  const administrative = Object.entries(LINES).filter(([, { fields }]) => 'actor' in fields)
  // Logins happen over HTTP.
  const elsewhere = ['operator logged in', 'session ended']
  t.strictSame(
    [...changes.map(([, { msg }]) => msg), ...elsewhere].sort(),
    administrative.map(([type]) => type).sort(),
    'every kind of change is tried',
  )
  for (const [args, event] of changes) {
    const { status, err, events } = await run(args, options)
    t.strictSame([status, err, events.length], [0, '', 1], args.join(' '))
    t.match(events[0], { level: 'info', actor, origin: 'command line', remote_address: hostname(), ...event })
  }
  const rows: { action: string }[] = await runJson(['audit', 'list'], options)
  const after = changes.slice(changes.findIndex(([, { msg }]) => msg === 'backup made') + 1)
  const before = changes.slice(0, -after.length - 1)
  t.strictSame(
    rows.map(({ action }) => action),
    [...before, ...after].map(([, { msg }]) => msg).reverse(),
    'each is a row in the store, but for a backup, which changes nothing',
  )
  for (const row of rows) t.match(row, { actor, origin: 'command line', remote_address: hostname(), request_id: null })
})

t.test('Audit: a seed is a line for each that it registered, and none for those it left', async (t) => {
  const options = temporaryDatabase(t)
  const stdin = JSON.stringify({
    suites: [{ id: 'store', name: 'Store API' }],
    applications: [{ name: 'A', developer_email: 'a@b.example', client_secret: 'imported-S3CR3T' }],
  })
  const { events } = await run(['seed', '-'], { ...options, stdin })
  t.match(events, [{ msg: 'suite registered' }, { msg: 'application registered' }])
  t.notMatch(JSON.stringify(events), 'S3CR3T')
  t.strictSame((await run(['seed', '-'], { ...options, stdin })).events, [])
})

t.test('Audit: a change that was made before is no event', async (t) => {
  const options = temporaryDatabase(t)
  await run(['suites', 'register', 'store', '--name', 'Store API', '--create'], options)
  await run(REGISTER, options)
  const changes = [
    ['apps', 'approve', 'a', '--suite', 'store'],
    ['apps', 'withdraw', 'a', '--suite', 'store'],
    ['apps', 'withdraw', 'a', '--suite', 'store'],
    ['apps', 'suspend', 'a'],
    ['apps', 'suspend', 'a'],
    ['apps', 'resume', 'a'],
    ['apps', 'resume', 'a'],
    ['apps', 'update', 'a', '--name', 'New'],
    ['apps', 'update', 'a', '--name', 'New', '--developer-email', 'a@b.example'],
    ['suites', 'update', 'store', '--name', 'Store API'],
    ['secrets', 'revoke', 'a', '2', '--force'],
    ['secrets', 'revoke', 'a', '2'],
  ]
  const events = []
  for (const args of changes) {
    const result = await run(args, options)
    t.strictSame([result.status, result.events.length <= 1], [0, true])
    events.push(result.events[0]?.msg)
  }
  t.strictSame(events, [
    undefined,
    'approval withdrawn',
    undefined,
    'application suspended',
    undefined,
    'application resumed',
    undefined,
    'application updated',
    undefined,
    undefined,
    'secret revoked',
    undefined,
  ])
})

t.test('Audit: what changes nothing is no event, and LOG_LEVEL applies', async (t) => {
  const options = temporaryDatabase(t)
  t.strictSame((await run(['apps', 'suspend', 'nobody'], options)).events, [])
  await runJson(REGISTER, options)
  t.strictSame((await run(['apps', 'list'], options)).events, [])
  const silent = { env: { ...options.env, LOG_LEVEL: 'silent' } }
  t.strictSame((await run(['apps', 'suspend', 'a'], silent)).events, [])
})

t.test('Commands: audit list shows who changed what, newest first', async (t) => {
  const options = temporaryDatabase(t)
  await run(['suites', 'register', 'store', '--name', 'Store API', '--create'], options)
  await run(REGISTER, options)
  await run(['apps', 'update', 'a', '--name', 'New'], options)
  await run(['apps', 'withdraw', 'a', '--suite', 'store'], options)
  await run(['secrets', 'rotate', 'a'], options)
  const who = { actor: userInfo().username, origin: 'command line', remote_address: hostname(), request_id: null }
  const application = { kind: 'application', id: 'a' }
  const all = await runJson(['audit', 'list'], options)
  const updated = { action: 'application updated', subject: application, before: { name: 'A' }, after: { name: 'New' } }
  t.match(all, [
    { action: 'secret rotated', subject: application, ...who },
    { action: 'approval withdrawn', before: { suites: ['store'] }, after: { suites: [] } },
    { ...updated, ...who, at: /^\d{4}-.*Z$/ },
    { action: 'application registered', before: null, after: { name: 'A' } },
    { action: 'suite registered', subject: { kind: 'suite', id: 'store' } },
  ])
  const fields = ['id', 'at', 'actor', 'origin', 'remote_address', 'request_id', 'action', 'subject', 'before', 'after']
  t.strictSame(Object.keys(all[0]), fields)

  const { out } = await run(['audit', 'list'], options)
  const lines = out.split('\n').map((line) => line.split(/ {2,}/))
  t.strictSame(
    lines.map((cells) => cells.slice(3)),
    [
      ['action', 'subject', 'what'],
      ['secret rotated', 'a', 'secrets: 2, +3'],
      ['approval withdrawn', 'a', 'suites: -store'],
      ['application updated', 'a', 'name: A → New'],
      ['application registered', 'a', 'name: A'],
      ['suite registered', 'store', 'name: Store API'],
      [],
    ],
  )
  t.match(lines[1], [/^\d{4}-/, who.actor, `command line, ${hostname()}`])

  const listed = async (...args: string[]) => (await runJson(['audit', 'list', ...args], options)).length
  t.equal(await listed('--limit', '2'), 2)
  t.equal(await listed('--actor', who.actor), 5)
  t.equal(await listed('--actor', 'nobody'), 0)
  t.equal(await listed('--subject', 'store'), 1)
  t.equal(await listed('--since', '1h'), 5)
  t.equal(await listed('--since', '2020-02-29'), 5)
  t.equal(await listed('--since', '2999-12-31T00:00'), 0)
})

t.test('Commands: audit list names keys by id, and login links by expiry', async (t) => {
  const { env } = temporaryDatabase(t)
  const options = { env: { ...env, ADMIN_ADDRESS: '127.0.0.1:8081' } }
  await run(['operators', 'add', 'anna', '--role', 'admin', '--create'], options)
  await run(['operators', 'key', 'anna', '--expires', '90d'], options)
  const { ends_at } = await runJson(['console'], options)
  await run(['operators', 'remove', 'anna'], options)
  const { out } = await run(['audit', 'list'], options)
  const cells = out.split('\n').map((line) => line.split(/ {2,}/).at(-1))
  t.strictSame(cells, ['what', 'role: admin', `login_links: +${ends_at}`, 'keys: +1', 'role: admin', ''])
})

t.test('Commands: audit list refuses an invalid time or limit', async (t) => {
  const options = temporaryDatabase(t)
  for (const since of ['yesterday', '7', '7w', '2026-13-01', '2026-11-22 06:30', '']) {
    const { status, err } = await run(['audit', 'list', '--since', since], options)
    t.equal(status, 2, since)
    t.match(err, /--since/)
  }
  for (const limit of ['0', '-1', 'x', '100000']) {
    t.equal((await run(['audit', 'list', '--limit', limit], options)).status, 2, limit)
  }
})

t.test('Audit: on a terminal the line of a change is one for people, as those of the server are', async (t) => {
  const { status, err, events } = await run(REGISTER, { ...temporaryDatabase(t), isTTY: true })
  t.equal(status, 0)
  t.match(err, /INFO.* \(A\): .*application registered.*\n +.*client_id.*: "a"\n/)
  t.strictSame(events, [], 'none of it is JSON')
})
