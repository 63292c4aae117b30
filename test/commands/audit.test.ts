import { writeFileSync } from 'node:fs'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { LINES } from '../../src/telemetry/audit-log.ts'
import { startDatabases } from '../support/postgres/postgres.ts'
import { run, runJson } from '../support/run.ts'
import { temporaryDatabase } from '../support/temporary-database.ts'

const REGISTER = ['apps', 'register', '--create', '--name', 'A', '--developer-email', 'a@b.example', '--client-id', 'a']

const { createDatabase } = await startDatabases(t)

t.test('Audit: every change by a command is one line with who made it, on standard error', async (t) => {
  const url = new URL(await createDatabase())
  const { env, ...rest } = temporaryDatabase(t)
  const options = { ...rest, env: { ...env, PGPASSWORD: url.password } }
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
    [['backup', copy], { msg: 'backup made', file: copy, without_tokens: false }],
    [['restore', copy], { msg: 'database restored', file: copy, replaced: /store\.db\.replaced-/ }],
    [['store', 'copy', '--to', to], { msg: 'database copied', moved_to: /^postgres:/, applications: 1 }],
    [['store', 'reopen'], { msg: 'database reopened', moved_to: /^postgres:/ }],
    [['apps', 'remove', 'a'], { msg: 'application removed', client_id: 'a' }],
    [['suites', 'remove', 'store'], { msg: 'suite removed', suite: 'store' }],
  ]
  const administrative = Object.entries(LINES).filter(([, { fields }]) => 'actor' in fields)
  t.strictSame(
    changes.map(([, { msg }]) => msg).sort(),
    administrative.map(([type]) => type).sort(),
    'every kind of change is tried',
  )
  for (const [args, event] of changes) {
    const { status, err, events } = await run(args, options)
    t.strictSame([status, err, events.length], [0, '', 1], args.join(' '))
    t.match(events[0], { level: 'info', actor, ...event })
  }
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
