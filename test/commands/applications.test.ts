import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import t from 'tap'
import { table } from '../../src/commands/shared/text.ts'
import { registerImported } from '../support/imported.ts'
import type { Filling } from '../support/registration.ts'
import { REGISTRATION_OPTIONS } from '../support/registration.ts'
import { expectAll, fails, misused, startShell } from '../support/shell.ts'

const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/
const DAY = 24 * 3_600_000
const SECRET = /^\w{40}$/
const REGISTER = `applications register --create ${REGISTRATION_OPTIONS} --name Äpp`
const WITHOUT_SUITES =
  /^Warning: The application is approved for no suite, so its tokens are valid nowhere: applications approve CLIENT_ID --suite ID\.\n$/

/** The application `a`. */
async function registerA({ applications }: Filling) {
  await applications.register({ name: 'Äpp', clientId: 'a' })
}

t.test('Commands: a registered application is shown with its credentials once, then without', async (t) => {
  const { run } = await startShell(t)
  const { status, out, err } = await run(REGISTER)
  t.equal(status, 0)
  t.match(err, WITHOUT_SUITES)
  const [, id = '', secret = ''] =
    /client_id {6}(\w{32})\n {2}client_secret {2}(\w{40})\n {2}suites {9}none\n\n.*shown only now/s.exec(out) ?? []
  const shown = ['apps list', `apps show ${id}`, `secrets list ${id}`].flatMap((one) => [one, `${one} --json`])
  for (const command of shown) {
    const { status, out } = await run(command)
    t.equal(status, 0, command)
    t.notOk(out.includes(secret) || out.includes('$sha256$'), command)
  }
})

t.test('Commands: with --json they use the names of the wire', async (t) => {
  const { run } = await startShell(t, registerA)
  const one = { name: 'Äpp', developer_email: 'a@b.example', status: 'active' }
  const listed = { client_id: 'a', ...one, created_at: ISO, tokens_valid_from: null }
  const secret = { id: 1, origin: 'generated', state: 'active', created_at: ISO, ends_at: null }
  const unused = { revoked_at: null, last_used_at: null, last_used_from: null }
  await expectAll(t, { run }, [
    ['apps list', { json: [{ ...listed, tokens_this_hour: 0, tokens_last_hour: 0 }] }],
    ['apps show a', { json: { ...listed, last_token_at: null, secrets: [{ ...secret, ...unused }] } }],
    ['apps suspend a', { json: { client_id: 'a', status: 'suspended' } }],
    ['apps show a', { json: { status: 'suspended' } }],
    ['apps resume a', { json: { client_id: 'a', status: 'active' } }],
    ['tokens revoke-all a', { json: { client_id: 'a', status: 'revoked' } }],
    ['apps show a', { json: { status: 'active', tokens_valid_from: ISO } }],
    ['secrets rotate a', { json: { client_id: 'a', client_secret: SECRET, others_end_at: ISO } }],
    ['secrets revoke a 2', { json: { client_id: 'a', id: 2, status: 'revoked' } }],
    ['secrets list a', { json: [{ ends_at: ISO }, { id: 2, state: 'revoked', ends_at: ISO, revoked_at: ISO }] }],
    ['apps remove a', { json: { client_id: 'a', status: 'removed' } }],
    ['apps show a', { status: 1, err: 'There is no application with the client id a.' }],
    [REGISTER, { json: { client_id: /^\w{32}$/, client_secret: SECRET, ...one, suites: [] }, err: /"warning":/ }],
  ])
})

t.test('Commands: without --json they print sentences and tables', async (t) => {
  const { run } = await startShell(t, registerA)
  await expectAll(t, { run }, [
    ['apps list', /^client id +name +developer email +status +tokens in the last hour \(the hour before\) +labels\n/],
    ['applications list', /\na +Äpp +a@b\.example +active +0 \(0\)\n$/],
    ['apps show a', /suites +none\ntokens valid from +the beginning\nlast token at +never\n\nsecret +origin +created /],
    ['apps show a', / +last used +state\n1 +generated +\S+ +never +active\n$/],
    ['apps suspend a', /^The application a is suspended\.\n$/],
    ['tokens revoke-all a', /Every token .* is revoked\.\n$/],
    ['secrets rotate a --overlap 30m', /client_id {6}a\nclient_secret {2}\w{40}\n.* The others end at \S+Z at/],
    ['secrets list a', /\n1 +generated +\S+ +never +ends at \S+Z\n2 +generated +\S+ +never +active\n$/],
    ['secrets revoke a 1', /^The secret 1 of a is revoked\.\n$/],
    ['secrets revoke a 1', /^The secret 1 of a was already revoked\.\n$/],
    ['secrets revoke a 9', fails(/a has no secret 9\.\n$/)],
    ['secrets rotate a --overlap 0', {}],
    ['secrets list a', /\n1 .* revoked at \S+Z\n2 .* revoked at \S+Z\n3 .* active\n$/],
    ['secrets revoke a 3', fails(/last active one of a, .* Rotate first\. To do it anyway, use --force\.\n$/)],
    ['secrets revoke a 3 --force', /^The secret 3 of a is revoked\.\n$/],
    ['apps remove a', /^The application a is removed\.\n$/],
    [`${REGISTER} --client-id b`, { out: /client_id {6}b\n/, err: WITHOUT_SUITES }],
  ])
})

t.test('Commands: an imported secret comes from a file or from standard input, and is not printed', async (t) => {
  const { run, json, folder } = await startShell(t, async (administration, store) => {
    await registerA(administration)
    await administration.suites.register({ suiteId: 's1', name: 'S' })
    await registerImported(store, 'b', 'legacy-secret-17')
  })
  const file = join(folder, 'secret')
  writeFileSync(file, 'legacy-secret-16\n')
  const add = (id: string, from = '-') => `apps add-secret ${id} --client-secret-file ${from}`
  const registered = await json(`${REGISTER} --client-secret-file -`, { stdin: 'legacy-secret-18\r\n' })
  t.strictSame(Object.keys(registered), [
    ...['client_id', 'name', 'developer_email', 'status', 'labels', 'note', 'managed_by', 'quota'],
    ...['source_addresses', 'public_labels', 'report_only', 'suites'],
  ])
  await expectAll(t, { run }, [
    [
      `${REGISTER} --client-id c --client-secret-file ${file} --all-suites`,
      /client_secret {2}the imported one\n {2}suites {9}s1\n$/,
    ],
    [add('b'), fails(/^b already has this secret: secret 3\.\n$/, 'legacy-secret-17')],
    [add('a'), { stdin: 'legacy-secret-16\n', out: /^The secret is added to a; its others stay valid\.\n$/ }],
    [add('b'), { stdin: 'another-secret', json: { client_id: 'b', status: 'added' } }],
    ['secrets list a', { json: ['generated', 'imported'].map((origin) => ({ origin, ends_at: null })) }],
    [add('a'), fails(/8 to 200/, 'short')],
    [add('s1'), fails(/no application/, 'legacy-secret-16')],
    [add('a', folder), fails(`Cannot read ${folder}: it is a directory.\n`)],
    [add('a', '/nowhere/at/all'), fails(/^Cannot read \/nowhere\/at\/all: ENOENT.*\.\n$/)],
    [`${add('a')} --json`, fails(/^\{"error":"The client secret must be /, '\xff')],
  ])
})

t.test('Commands: a rotation leaves the other secrets a day', async (t) => {
  const { json } = await startShell(t, registerA)
  const before = Date.now()
  const lasts = Date.parse((await json('secrets rotate a')).others_end_at) - before
  t.ok(lasts >= DAY && lasts <= DAY + Date.now() - before)
})

t.test('Commands: an application is approved for the suites that are named, or for every one', async (t) => {
  const both = ['s1', 's2']
  const { run, json } = await startShell(t, async ({ suites }) => {
    for (const suiteId of both) await suites.register({ suiteId, name: suiteId })
  })
  t.strictSame((await json(`${REGISTER} --client-id all --all-suites`)).suites, both)
  const { events, out } = await run(`${REGISTER} --client-id one --suite s1 --suite s1`)
  t.match(events, [{ suites: ['s1'] }])
  t.match(out, /\n {2}suites {9}s1\n/)
  const withdraw = 'apps withdraw all --suite s1 --suite s2'
  await expectAll(t, { run }, [
    [
      `${REGISTER} --suite s1 --all-suites`,
      { ...fails(/'--all-suites' cannot be used with option '--suite/), status: 2 },
    ],
    [`${REGISTER} --suite nowhere`, fails(/no suite with the id nowhere/)],
    ['apps approve one', misused(/--suite/)],
    ['apps approve one --suite s2 --suite nowhere', fails(/no suite with the id nowhere/)],
    ['apps show one', { json: { suites: /^s1$/ } }],
    ['apps approve one --suite s2', { json: { client_id: 'one', suite: 's2', status: 'approved' } }],
    ['apps withdraw one --suite s2', /^The application one is no longer approved for the suite s2\.\n$/],
    ['apps approve one --suite s1 --suite s2', /^The application one is approved for the suites s1, s2\.\n$/],
    ['apps show one', /^suites +s1, s2$/m],
    ['apps withdraw one --suite s1 --suite s2', { json: { client_id: 'one', suites: both, status: 'withdrawn' } }],
    ['apps withdraw all --suite s1', { json: { suite: 's1' } }],
    [withdraw, /^The .* all is no longer approved for the suite s2\.\nThe .* all was not .* the suite s1\.\n$/],
    [`${withdraw} --suite s1`, /^The application all was not approved for the suites s1, s2\.\n$/],
    ['apps show all', { json: { suites: /^$/ } }],
  ])
})

t.test('Commands: the name and the developer email of an application are updated, each alone or both', async (t) => {
  const { run } = await startShell(t, registerA)
  const update = 'apps update a'
  await expectAll(t, { run }, [
    [`${update} --name New`, { json: { client_id: 'a', name: 'New', developer_email: 'a@b.example' } }],
    [`${update} --developer-email c@d.example`, { json: { name: 'New', developer_email: 'c@d.example' } }],
    [`${update} --name N --developer-email e@f.example`, { json: { name: 'N', developer_email: 'e@f.example' } }],
    [`${update} --name N`, /^The application a already has these values\.\n$/],
    [`${update} --name M`, /^The application a is updated\.\n$/],
    [`${update} --developer-email x`, fails(/email address/)],
    ['apps update nobody --name M', fails(/^There is no application with the client id nobody\.\n$/)],
    [
      update,
      misused(
        /--name or --developer-email or --quota or --label or --note or --managed-by or --source or --public or --report-only or --remove-source or --remove-public or --enforce or --remove-label is required/,
      ),
    ],
    ['apps show a', { json: { name: 'M', developer_email: 'e@f.example' } }],
  ])
})

t.test('Commands: labels, a note and a quota are set, changed and removed, and filter the lists', async (t) => {
  const { run } = await startShell(t)
  const set = { labels: { environment: 'test', owner: 'web=1' }, note: 'One', quota: 10 }
  const label = '--label owner=web=1 --label environment=test'
  await expectAll(t, { run }, [
    [`suites register s --create --name S ${label} --note One`, { json: { labels: set.labels, note: 'One' } }],
    ['suites list --label owner', /^suite +name +labels\ns +S +environment=test, owner=web=1\n$/],
    ['suites list --label owner=web', { json: [] }],
    ['suites show s', /\nlabels +environment=test, owner=web=1\nnote +One\n/],
    ['suites update s --remove-label owner --note ', { json: { labels: { environment: 'test' }, note: '' } }],
    ['suites update s', misused(/--name or --label or --url or --note or --managed-by or --remove-label is required/)],
    [`${REGISTER} --client-id a --suite s ${label} --note One --quota 10`, { json: set }],
    ['apps update a --label owner=api --label x.y/z=1 --remove-label environment', {}],
    ['apps show a', /\nquota +10 tokens an hour\nlabels +owner=api, x\.y\/z=1\nnote +One\n/],
    ['apps update a --quota default', { json: { quota: null, labels: { owner: 'api', 'x.y/z': '1' }, note: 'One' } }],
    ['apps update a --label owner', fails(/^The value of a label must not be empty: owner\.\n$/)],
    ['apps update a --quota 0', misused(/a whole number above 0, or default/)],
    ['apps list --label owner=api --label x.y/z --suite s', / +owner=api, x\.y\/z=1\n$/],
    ['apps list --label owner=api --label environment', { json: [] }],
    ['apps list --suite nowhere', { json: [] }],
    ['apps list --search R=API', { json: [{ client_id: 'a' }] }],
  ])
})

t.test('Commands: source addresses, public labels and what is only reported are added and removed', async (t) => {
  const { run } = await startShell(t, ({ suites }) => suites.register({ suiteId: 's', name: 'S' }))
  const lists = { source_addresses: ['192.0.2.0/24', '::1'], public_labels: ['tier'], report_only: ['quota'] }
  const options = '--source 192.0.2.0/24 --source ::1 --public tier --report-only quota'
  await expectAll(t, { run }, [
    [`${REGISTER} --client-id a --suite s ${options}`, { json: lists }],
    ['apps show a', /\nsource addresses +192\.0\.2\.0\/24, ::1\npublic labels +tier\nonly reported +quota\n/],
    ['apps update a --source 10.0.0.1 --remove-source ::1 --report-only source_addresses', {}],
    [
      'apps show a',
      { json: { source_addresses: ['192.0.2.0/24', '10.0.0.1'], report_only: ['quota', 'source_addresses'] } },
    ],
    ['apps update a --enforce quota --enforce source_addresses --remove-public tier --source 10.0.0.1', {}],
    [
      'apps show a',
      {
        json: {
          source_addresses: { ...['192.0.2.0/24', '10.0.0.1'], length: 2 },
          public_labels: { length: 0 },
          report_only: { length: 0 },
        },
      },
    ],
    ['apps update a --source host.example', fails(/^A source address must be an IP address .*: host\.example\.\n$/)],
    ['apps update a --report-only all', fails(/^Only these can be reported: source_addresses, quota: all\.\n$/)],
    [
      'apps update a --remove-source 192.0.2.0/24 --remove-source 10.0.0.1',
      { json: { source_addresses: { length: 0 } } },
    ],
  ])
})

t.test('Commands: of two that add to the same list at once, neither loses what the other adds', async (t) => {
  const { run, json } = await startShell(t, async (administration) => {
    await registerA(administration)
    await administration.suites.register({ suiteId: 's', name: 'S' })
  })
  const both = ['--source 192.0.2.1 --label a=1', '--source 192.0.2.2 --label b=2']
  await Promise.all(both.map((options) => run(`apps update a ${options}`)))
  const { source_addresses, labels } = await json('apps show a')
  t.strictSame([source_addresses.sort(), labels], [['192.0.2.1', '192.0.2.2'], { a: '1', b: '2' }])
  const more = Array.from({ length: 6 }, (_, n) => [`k${n}`, 'x'] as const)
  await Promise.all(more.map((label) => run(`suites update s --label ${label.join('=')}`)))
  t.strictSame((await json('suites show s')).labels, Object.fromEntries(more))
})

t.test('Commands: applications list can be filtered by text and status, and limited to the newest', async (t) => {
  const { run, json } = await startShell(t, async ({ applications }) => {
    for (const clientId of ['shop-1', 'two', 'shop-3']) {
      await applications.register({ name: `App ${clientId}`, developerEmail: 'a@b.example', clientId })
    }
    await applications.suspend('two')
  })
  const cases = {
    '': ['shop-1', 'two', 'shop-3'],
    ' --search SHOP': ['shop-1', 'shop-3'],
    ' --status suspended': ['two'],
    ' --status active --search app --limit 1': ['shop-3'],
    ' --limit 2': ['two', 'shop-3'],
  }
  for (const [options, ids] of Object.entries(cases)) {
    const found = (await json(`apps list${options}`)).map(({ client_id }: { client_id: string }) => client_id)
    t.strictSame(found, ids, `apps list${options}`)
  }
  for (const limit of ['0', '-1', '1.5', 'x', '9999999999']) {
    t.match(await run(`apps list --limit ${limit}`), misused(/whole number above 0/), limit)
  }
  t.match(await run('apps list --status gone'), misused(/active, suspended/))
})

t.test('Commands: columns are as wide as what is in them, and what is printed commands no terminal', async (t) => {
  const rows = [['株式会社テスト'], ['e\u0301te'], ['👩‍💻 x'], ['ab\u202e\u009b\nc']].map((row) => [...row, '|'])
  t.strictSame(table(['name', ''], rows).split('\n').slice(1), [
    '株式会社テスト         |',
    'e\u0301te                    |',
    '👩‍💻 x                   |',
    'ab\\u202e\\u009b\\u000ac  |',
  ])
  const { run, json, file } = await startShell(t, registerA)
  const db = new Database(file)
  db.exec("UPDATE applications SET name = 'ab' || char(0x202e, 0x9b) || 'c'")
  db.close()
  t.match((await run('apps show a')).out, 'name               ab\\u202e\\u009bc\n')
  t.notMatch((await run('apps show a --json')).out, /[\u202e\u009b]/)
  t.equal((await json('apps show a')).name, 'ab\u202e\u009bc')
})

const UNKNOWN = fails(/^There is no suite with the id nobody\.\n$/)

t.test('Suites: they are registered with credentials that are shown once, listed, shown and removed', async (t) => {
  const { run } = await startShell(t)
  const store = { id: 'store', client_id: 'store', name: 'Store', client_secret: /^\w{40}$/ }
  const info = /^Info \(suite\)\n {2}client_id {6}info\n {2}client_secret {2}\w{40}\nA generated /
  const more = / is shown only now .*\nNo application is approved for it yet: .* does that\.\n$/
  await expectAll(t, { run }, [
    ['suites register store --create --name Store', { json: { ...store, applications_not_approved: 0 } }],
    [`apps register ${REGISTRATION_OPTIONS} --client-id a --all-suites`, {}],
    ['suites register info --name Info', info],
    ['suites register more --name More', more],
    [
      `suites register long --name Long --url https://a.example/${'日'.repeat(60)}`,
      fails(/^The URL may have at most 500 characters, percent-encoded\.\n$/),
    ],
    ['suites list', { json: [{ id: 'store', name: 'Store' }, { id: 'info' }, { id: 'more' }] }],
    ['suites list', /^suite +name +labels\nstore +Store\ninfo +Info\nmore +More\n$/],
    ['suites show store', { json: { id: 'store', name: 'Store', approved: ['a'], secrets: [{ id: 1 }] } }],
    ['suites show store', /^suite {5}store\nname {6}Store\napproved {2}a\n\nsecret .*\n1 +generated .* active\n$/],
    ['suites show info', /\napproved {2}none\n/],
    ['suites remove store', { json: { id: 'store', status: 'removed' } }],
    ['suites remove info', /^The suite info is removed\.\n$/],
    ['suites list', { json: [{ id: 'more' }] }],
    ['suites show nobody', UNKNOWN],
  ])
})

t.test('Suites: a URL is registered, shown, updated and removed', async (t) => {
  const { run } = await startShell(t)
  const wrong = fails(
    /^The URL must be an https URL without a user, a query or a fragment \(http for this machine only\)\.\n$/,
  )
  await expectAll(t, { run }, [
    ['suites register a --create --name A --url HTTPS://A.example:443/', { json: { url: 'https://a.example' } }],
    ['suites show a', /^suite +a\nname +A\napproved +none\nURL +https:\/\/a\.example\n/],
    ['suites register b --name B --url https://a.example', fails(/^The suites b and a cannot have the same URL\.\n$/)],
    ['suites update a --url http://127.0.0.1:3000/mcp', { json: { url: 'http://127.0.0.1:3000/mcp' } }],
    ...[
      'mcp',
      'http://a.example',
      'https://a.example/?b',
      'https://a.example/#b',
      'https://u:p@a.example',
      'ftp://a',
    ].map((url): [string, typeof wrong] => [`suites update a --url ${url}`, wrong]),
    [
      `suites update a --url https://a.example/${'x'.repeat(500)}`,
      fails(/^The URL may have at most 500 characters\.\n$/),
    ],
    ['suites update a --url ', { json: { url: '' } }],
    ['suites show a', /^suite +a\nname +A\napproved +none\n\n/],
  ])
})

t.test('Suites: their names are updated, and their secrets rotated, listed and revoked', async (t) => {
  const { run } = await startShell(t, ({ suites }) => suites.register({ suiteId: 'store', name: 'Store' }))
  await expectAll(t, { run }, [
    ['suites update store --name Shop', /^The suite store is updated\.\n$/],
    ['suites update store --name Shop', /^The suite store already has these values\.\n$/],
    ['suites update store --name Shop', { json: { id: 'store', name: 'Shop' } }],
    ['suites update nobody --name A', UNKNOWN],
    ['suites update store --name ', fails(/^The name must not be empty\.\n$/)],
    ['secrets rotate store --overlap 1h', { json: { client_id: 'store', client_secret: /^\w{40}$/ } }],
    ['secrets list store', { json: [{ id: 1, ends_at: /Z$/ }, { id: 2 }] }],
    ['secrets revoke store 2', { json: { client_id: 'store', id: 2 } }],
    ['secrets list nobody', fails(/no application and no suite/)],
  ])
})

t.test('Suites: of many applications that are approved, some are named, or all where that is asked for', async (t) => {
  const clientIds = Array.from({ length: 12 }, (_, n) => `a${n}`)
  const { run } = await startShell(t, async ({ applications, suites }) => {
    await suites.register({ suiteId: 'store', name: 'Store' })
    for (const clientId of clientIds) await applications.register({ clientId, suites: 'all' })
  })
  const some = /^approved {2}12 applications: a0, a1, a2, a3, a4, a5, a6, a7, a8, a9 … \(--all names every one\)$/m
  await expectAll(t, { run }, [
    ['suites show store', some],
    ['suites show store --all', { out: `\napproved  ${clientIds.join(', ')}\n` }],
    ['suites show store', { json: { approved: clientIds } }],
  ])
})
