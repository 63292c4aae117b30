import { generateKeyPairSync } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import t, { type Test } from 'tap'
import { commandUser } from '../../src/commands/shared/administer.ts'
import { AUDIT_ACTIONS } from '../../src/domain/events.ts'
import { LINES } from '../../src/telemetry/audit-log.ts'
import { AUDIT } from '../support/on.ts'
import { startDatabases } from '../support/postgres/postgres.ts'
import { REGISTRATION_OPTIONS } from '../support/registration.ts'
import { expectAll, fails, misused, shell, startShell } from '../support/shell.ts'
import { runJson } from '../support/spawn.ts'
import { temporaryDatabase } from '../support/temporary-database.ts'

const REGISTER = `apps register --create ${REGISTRATION_OPTIONS} --client-id a --all-suites`
const STORE = 'suites register store --name Store --create'
const WHO = { actor: commandUser(process.env), origin: 'command line', remote_address: hostname() }

t.test('Audit: every change by a command is one line with who made it, on standard error', async (t) => {
  const { createDatabase } = await startDatabases()
  const url = new URL(await createDatabase())
  const { env, folder } = temporaryDatabase(t)
  const { run, json } = shell({ ...env, PGPASSWORD: url.password, ADMIN_ADDRESS: '127.0.0.1:8081' })
  url.password = ''
  const copy = join(folder, 'copy.db')
  const a = { client_id: 'a' }
  const anna = { operator: 'anna' }
  const changes: [command: string, msg: string, fields: object][] = [
    [STORE, 'suite registered', { suite: 'store' }],
    ['suites update store --name Shop', 'suite updated', { suite: 'store', name: 'Shop' }],
    [REGISTER, 'application registered', { ...a, name: 'A', suites: 'all' }],
    ['apps update a --name New --developer-email c@d', 'application updated', { changed: ['name', 'developer_email'] }],
    ['apps suspend a', 'application suspended', a],
    ['apps resume a', 'application resumed', a],
    ['apps withdraw a --suite store', 'approval withdrawn', { ...a, suite: 'store' }],
    ['apps approve a --suite store', 'application approved', { ...a, suite: 'store' }],
    ['secrets rotate a', 'secret rotated', { ...a, others_end_at: /^\d{4}-.*Z$/ }],
    ['secrets revoke a 3', 'secret revoked', { ...a, secret_id: 3 }],
    ['apps add-secret a --client-secret-file -', 'secret added', a],
    ['tokens revoke-all a', 'all tokens revoked', a],
    ['operators add anna --role admin', 'operator added', { ...anna, role: 'admin' }],
    ['operators key anna --expires 90d', 'operator key added', { ...anna, key_id: 1 }],
    ['console anna', 'login link made', anna],
    ['operators revoke-key anna 1', 'operator key revoked', { ...anna, key_id: 1 }],
    ['operators remove anna', 'operator removed', anna],
    [`backup ${copy}`, 'backup made', { file: copy, without_tokens: false }],
    [`restore ${copy}`, 'database restored', { file: copy, replaced: /store\.db\.replaced-/ }],
    [`store copy --to ${url.href}`, 'database copied', { moved_to: /^postgres:/, applications: 1 }],
    ['store reopen', 'database reopened', { moved_to: /^postgres:/ }],
    ['apps remove a', 'application removed', a],
    ['suites remove store', 'suite removed', { suite: 'store' }],
  ]
  const isAdministrative = ([, { fields }]: [string, { fields: readonly string[] }]) => fields.includes('actor')
  const administrative = Object.entries(LINES)
    .filter(isAdministrative)
    .map(([type]) => type)
    .sort()
  // These happen over HTTP.
  const links = ['hand-over link made', 'hand-over link used', 'hand-over link withdrawn']
  const elsewhere = [
    'operator logged in',
    'operator updated',
    'session ended',
    'warning acknowledged',
    'list exported',
    'change undone',
    ...links,
  ]
  const tried = [...changes.map(([, msg]) => msg), ...elsewhere].sort()
  t.strictSame(tried, administrative, 'every kind of change is tried')
  for (const [command, msg, fields] of changes) {
    const { status, err, events } = await run(command, { stdin: 'imported-secret' })
    t.strictSame([status, err, events.length], [0, '', 1], command)
    t.match(events[0], { level: 'info', msg, ...WHO, ...fields }, command)
  }
  const rows: { action: string }[] = await json('audit list')
  const stored = changes.map(([, msg]) => msg).filter((msg) => msg !== 'backup made')
  t.strictSame(rows.map(({ action }) => action).reverse(), stored, 'each is a row, but a backup, which changes nothing')
  const withoutRows = ['backup made', 'list exported']
  t.strictSame([...AUDIT_ACTIONS, ...withoutRows].sort(), administrative, 'each can be searched for')
  t.match(rows, Array(rows.length).fill({ ...WHO, request_id: null }))
})

t.test('Audit: what changes nothing is no event, and LOG_LEVEL applies', async (t) => {
  const { run, env } = await startShell(t)
  for (const command of [STORE, REGISTER, 'apps withdraw a --suite store', 'secrets revoke a 2 --force']) {
    t.equal((await run(command)).events.length, 1, command)
  }
  const nothing = ['apps list', 'apps withdraw a --suite store', 'apps resume a', 'secrets revoke a 2']
  const names = ['apps update a --name A --developer-email a@b.example', 'suites update store --name Store']
  for (const command of [...nothing, ...names]) await expectAll(t, { run }, [[command, { events: [] }]])
  t.strictSame((await run('apps suspend nobody')).events, [])
  t.strictSame((await shell({ ...env, LOG_LEVEL: 'silent' }).run('apps suspend a')).events, [])
  const { err, events } = await run('apps resume a', { isTTY: true })
  t.match(err, /INFO.*: application resumed \{\n +client_id: .*'a'/, 'on a terminal it is for people')
  t.strictSame(events, [], 'none of it is JSON')
})

t.test('Commands: audit list shows who changed what, newest first', async (t) => {
  const { run, json, env } = await startShell(t)
  const changes = [STORE, REGISTER, 'apps update a --name New', 'apps withdraw a --suite store', 'secrets rotate a']
  for (const command of changes) await run(command)
  await run('apps update a --label b=2 --label a=1 --note Call --quota 5')
  await run('federated add a --issuer https://issuer.example --subject repo:acme/shop')
  const subject = { kind: 'application', id: 'a' }
  const all = await json('audit list')
  const who = { ...WHO, request_id: null, at: /^\d{4}-.*Z$/ }
  t.match(all, [
    { action: 'secret added', after: { federated: [{ subject: 'repo:acme/shop' }] } },
    { action: 'application updated', after: { labels: { a: '1', b: '2' } } },
    { action: 'secret rotated', subject, ...who },
    { action: 'approval withdrawn', before: { suites: ['store'] }, after: { suites: [] } },
    { action: 'application updated', subject, before: { name: 'A' }, after: { name: 'New' }, ...who },
    { action: 'application registered', before: null, after: { name: 'A' } },
    { action: 'suite registered', subject: { kind: 'suite', id: 'store' } },
  ])
  const source = ['actor', 'actor_email', 'origin', 'remote_address', 'request_id']
  t.strictSame(Object.keys(all[0]), ['id', 'at', ...source, 'action', 'subject', 'before', 'after'])

  const lines = (await run('audit list')).out.split('\n').map((line) => line.split(/ {2,}/))
  const table = lines.map((cells) => cells.slice(3).join(' | '))
  t.strictSame(table, [
    'action | subject | what',
    'secret added | a | federated: +repo:acme/shop; secrets: +4',
    'application updated | a | labels: +a=1, +b=2; note: none → Call; quota: none → 5',
    'secret rotated | a | secrets: 2, +3',
    'approval withdrawn | a | suites: -store',
    'application updated | a | name: A → New',
    'application registered | a | name: A',
    'suite registered | store | name: Store',
    '',
  ])
  t.match(lines[1], [/^\d{4}-/, WHO.actor, `command line, ${hostname()}`])

  const counts = {
    ...{ '--since 1h': 7, '--since 2020-02-29': 7, '--since 2999-12-31T00:00': 0, '--until 1h': 0 },
    ...{ '--until 2999-12-31': 7, '--search STOR': 1, '--search store --limit 2': 1, '--search nothing': 0 },
    ...{ '--limit 2': 2, [`--actor ${WHO.actor}`]: 7, '--actor nobody': 0, '--subject store': 1 },
  }
  for (const [options, count] of Object.entries(counts)) {
    t.equal((await json(`audit list ${options}`)).length, count, options)
  }
  const rotated = { action: 'secret rotated' }
  t.match(await runJson(['audit', 'list', '--action', 'secret rotated'], { env }), [rotated])
  await expectAll(t, { run }, [
    ['audit list --since yesterday', misused(/--since/)],
    ['audit list --until yesterday', misused(/--until/)],
    ['audit list --action coffee', misused(/--action/)],
    ['audit list --since 2026-13-01', misused(/--since/)],
    ['audit list --limit 0', misused(/--limit/)],
    ['audit list --limit 100000', misused(/--limit/)],
    ['audit list --limit 99999', {}],
  ])
})

t.test('Commands: audit list shows and finds the email address of an operator from the provider', async (t) => {
  const { env } = await startShell(t, async (_, store) => {
    const author = { actor: 'i#7', origin: 'console', remoteAddress: '192.0.2.1' } as const
    const operator = { operator: 'i#7', role: 'viewer', email: 'eva@a.example' } as const
    for (const type of ['operator added', 'operator removed'] as const)
      await store.change({ type, ...operator }, { ...AUDIT, author, at: Date.now() })
  })
  const { out } = await shell(env).run('audit list --actor eva@a.example')
  const shown = [...out.matchAll(/^\S+ {2,}(.+?) {2,}.+? {2,}(.+?) {2,}/gm)].map(
    ([, actor, action]) => `${actor} ${action}`,
  )
  t.strictSame(shown, ['actor action', 'eva@a.example (i) operator removed', 'eva@a.example (i) operator added'])
})

t.test(
  'Commands: audit list has one row for what a request changed alike, and names the option that lists each',
  async (t) => {
    const ids = ['a-1', 'a-2', 'a-3', 'a-4']
    const { env } = await startShell(t, async ({ applications, suites }, store) => {
      await suites.register({ suiteId: 'store', name: 'Store' })
      for (const clientId of ids)
        await applications.register({ clientId, name: clientId, developerEmail: 'a@b.example' })
      const author = { actor: 'anna', origin: 'console', remoteAddress: '192.0.2.1', requestId: 'r-7' } as const
      const by = { ...AUDIT, author, at: Date.now() }
      await store.change({ type: 'application approved', clientIds: ids, suite: 'store' }, by)
      await store.change({ type: 'approval withdrawn', clientIds: ids.slice(2), suite: 'store' }, by)
    })
    const { run, json } = shell(env)
    const cells = (out: string) => out.split('\n').map((line) => line.split(/ {2,}/).slice(3).join(' | '))
    const each = 'each: audit list --request-id r-7'
    t.strictSame(cells((await run('audit list --actor anna')).out), [
      'action | subject | what',
      `approval withdrawn | 2 applications: a-4, a-3 | suites: -store; ${each}`,
      `application approved | 4 applications: a-4, a-3, a-2 and 1 more | suites: +store; ${each}`,
      '',
    ])
    const rows = cells((await run('audit list --request-id r-7')).out).slice(1, -1)
    t.strictSame(
      rows.map((row) => row.split(' | ')[1]),
      ['a-4', 'a-3', 'a-4', 'a-3', 'a-2', 'a-1'],
    )
    t.equal((await json('audit list --actor anna')).length, 6, 'as JSON, each is an object')

    const many = Array.from({ length: 101 }, (_, n) => `m-${n}`)
    const { env: other } = await startShell(t, async ({ applications, suites }, store) => {
      await suites.register({ suiteId: 'store', name: 'Store' })
      for (const clientId of many)
        await applications.register({ clientId, name: clientId, developerEmail: 'a@b.example' })
      const author = { actor: 'anna', origin: 'console', remoteAddress: '192.0.2.1', requestId: 'r-8' } as const
      const by = { ...AUDIT, author, at: Date.now() }
      await store.change({ type: 'application approved', clientIds: many, suite: 'store' }, by)
    })
    const { out } = await shell(other).run('audit list --actor anna')
    const [, command = ''] = /each: (audit list .*)\n/.exec(out) ?? []
    t.equal(cells((await shell(other).run(command)).out).length, 103, `${command}, with a heading`)
  },
)

t.test('Commands: audit list names keys by id, and login links by expiry', async (t) => {
  const { env } = await startShell(t, ({ operators }) => operators.add('anna', 'admin'))
  const { run, json } = shell({ ...env, ADMIN_ADDRESS: '127.0.0.1:8081' })
  await run('operators key anna --expires 90d')
  const { ends_at } = await json('console')
  await run('operators remove anna')
  const cells = (await run('audit list')).out.split('\n').map((line) => line.split(/ {2,}/).at(-1))
  t.strictSame(cells, ['what', 'role: admin', `login_links: +${ends_at}`, 'keys: +1', 'role: admin', ''])
})

/** A database with three changes, and the files of a key. */
async function startAudited(t: Test) {
  const shell = await startShell(t)
  for (const command of [STORE, REGISTER, 'apps suspend a']) await shell.run(command)
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  const write = (name: string, content: string | Buffer) => {
    writeFileSync(join(shell.folder, name), content)
    return join(shell.folder, name)
  }
  const key = write('key.pem', privateKey.export({ type: 'pkcs8', format: 'pem' }))
  return { ...shell, write, key, publicKey: write('public.pem', publicKey.export({ type: 'spki', format: 'pem' })) }
}

t.test('Commands: audit head prints the newest event, signed with AUDIT_KEY_FILE', async (t) => {
  const { env, run, json, key } = await startAudited(t)
  const [newest] = await json('audit list --limit 1')
  const { hash, made_at, ...head } = await json('audit head')
  t.strictSame(head, { id: 3, at: newest.at })
  t.match({ hash, made_at }, { hash: /^[\w-]{43}$/, made_at: /^20.*Z$/ })
  const { out } = await run('audit head')
  t.match(out, /^id +3\nat +20.*Z\nhash +[\w-]{43}\nmade_at +20.*Z\nsignature +none, because AUDIT_KEY_FILE is none\n$/)
  const signing = shell({ ...env, AUDIT_KEY_FILE: key })
  t.match(await signing.json('audit head'), { hash, signature: /^[\w+/]{86}==$/ })
  t.match((await signing.run('audit head')).out, /\nsignature +[\w+/]{86}==\n$/)
  await expectAll(t, shell({ ...env, AUDIT_KEY_FILE: `${key}-gone` }), [
    ['audit head', fails(/^AUDIT_KEY_FILE, .*key\.pem-gone, cannot be read: ENOENT\.\n$/)],
  ])
  const empty = await startShell(t)
  await expectAll(t, empty, [['audit head', fails('There are no audit events.\n')]])
})

t.test('Commands: audit verify names what was changed by hand, and compares with a head', async (t) => {
  const { env, file, run, json, key, publicKey, write } = await startAudited(t)
  const head = write('head.json', JSON.stringify(await shell({ ...env, AUDIT_KEY_FILE: key }).json('audit head')))
  const signed = `audit verify --head ${head} --public-key ${publicKey}`
  const whole = 'All 3 events, from 1 to 3, are as they were written.\n'
  const nothing = { events: 0, last: null }
  await expectAll(t, { run }, [
    ['audit verify', { out: whole }],
    ['audit verify', { json: { problem: null, events: 3, first: 1, last: 3, chained_later: nothing } }],
    [signed, { out: `${whole}Event 3 is that of the head.\n` }],
    ['audit verify --head -', fails(/^This is not the JSON of a head: /, '{}')],
    [`audit verify --head ${head} --public-key ${head}`, fails(/head\.json must have an Ed25519 key/)],
    [`audit verify --public-key ${publicKey}`, fails('--public-key needs --head.\n')],
    [`${signed}-gone`, fails(/public\.pem-gone cannot be read/)],
  ])
  const db = new Database(file)
  t.teardown(() => db.close())
  db.exec("UPDATE audit_events SET actor = 'nobody' WHERE id = 2")
  const changed = {
    out: /^Event 2 \(application registered a\) is not as it was written: .*\nThe events from 1 to 1 are as they/,
  }
  const broken = { status: 1, err: 'The audit trail was changed by hand, or is not that of the head.\n' }
  await expectAll(t, { run }, [['audit verify', { ...broken, ...changed }]])
  t.match(JSON.parse((await run('audit verify --json')).out), { problem: { event: 2, text: /^Event 2 / }, events: 1 })
  db.exec("UPDATE audit_events SET actor = 'nobody', chained_at = NULL WHERE id > 0")
  const late =
    /are as they were written\.\n3 events, the last of them 3, were chained later than they were written: if they were changed before 20\S+Z, this does not show it\.\n$/
  await expectAll(t, { run }, [
    ['audit verify', late],
    [signed, { ...broken, out: /^Event 3 .* is not that of the head: / }],
  ])
  db.exec('DELETE FROM audit_events')
  await expectAll(t, { run }, [
    ['audit verify', /^There are no audit events\.\n$/],
    [signed, { ...broken, out: /^Event 3 of the head is not there: / }],
  ])
  t.match(await json('audit verify'), { events: 0, first: null, last: null })
})
