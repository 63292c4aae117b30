import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import t from 'tap'
import { run, runJson } from '../support/run.ts'
import { temporaryDatabase } from '../support/temporary-database.ts'

const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/
const WITHOUT_SUITES =
  'Warning: It is approved for no suite, so its tokens are valid nowhere: applications approve CLIENT_ID --suite ID.\n'
const REGISTER = ['applications', 'register', '--create', '--name', 'Ünï App', '--developer-email', 'a@b.example']

t.test('Commands: a registered application is shown with its credentials once, then without', async (t) => {
  const options = temporaryDatabase(t)
  const { status, out, err } = await run(REGISTER, options)
  t.strictSame([status, err], [0, WITHOUT_SUITES])
  const [, id, secret] =
    /client_id {6}(\w{32})\n {2}client_secret {2}(\w{40})\n {2}suites {9}none\n\n.*shown this once/s.exec(out) ?? []
  t.ok(id && secret)
  const later = await Promise.all(
    [
      ['apps', 'list'],
      ['apps', 'show', id],
      ['secrets', 'list', id],
    ].flatMap((args) => [run(args as string[], options), run([...(args as string[]), '--json'], options)]),
  )
  for (const { status, out } of later) {
    t.equal(status, 0)
    t.notMatch(out, secret)
    t.notMatch(out, '$sha256$')
  }
})

t.test('Commands: with --json they use the names of the wire', async (t) => {
  const options = temporaryDatabase(t)
  const registered = await runJson(REGISTER, options)
  t.match(registered, {
    client_id: /^\w{32}$/,
    client_secret: /^\w{40}$/,
    name: 'Ünï App',
    developer_email: 'a@b.example',
    status: 'active',
    suites: [],
  })
  const id = registered.client_id
  const listed = {
    client_id: id,
    name: 'Ünï App',
    developer_email: 'a@b.example',
    status: 'active',
    created_at: ISO,
    tokens_valid_from: null,
  }
  const counts = { tokens_this_hour: 0, tokens_last_hour: 0 }
  const secret = {
    id: 1,
    origin: 'generated',
    state: 'active',
    created_at: ISO,
    ends_at: null,
    revoked_at: null,
    last_used_at: null,
  }
  t.match(await runJson(['apps', 'list'], options), [{ ...listed, ...counts }])
  t.match(await runJson(['apps', 'show', id], options), { ...listed, last_token_at: null, secrets: [secret] })
  t.match(await runJson(['apps', 'suspend', id], options), { client_id: id, status: 'suspended' })
  t.match(await runJson(['apps', 'show', id], options), { status: 'suspended' })
  t.match(await runJson(['apps', 'resume', id], options), { client_id: id, status: 'active' })
  t.match(await runJson(['tokens', 'revoke-all', id], options), { client_id: id, status: 'revoked' })
  t.match(await runJson(['apps', 'show', id], options), { status: 'active', tokens_valid_from: ISO })
  t.match(await runJson(['secrets', 'rotate', id], options), {
    client_id: id,
    client_secret: /^\w{40}$/,
    others_end_at: ISO,
  })
  t.match(await runJson(['secrets', 'revoke', id, '2'], options), { client_id: id, id: 2, status: 'revoked' })
  t.match(await runJson(['secrets', 'list', id], options), [
    { ...secret, ends_at: ISO },
    { ...secret, id: 2, state: 'revoked', ends_at: ISO, revoked_at: ISO },
  ])
  t.match(await runJson(['apps', 'remove', id], options), { client_id: id, status: 'removed' })
  t.strictSame(await runJson(['apps', 'list'], options), [])
})

t.test('Commands: without --json they print sentences and tables', async (t) => {
  const options = temporaryDatabase(t)
  const words = async (...args: string[]) => (await run(args, options)).out
  t.match(await words(...REGISTER, '--client-id', 'partner-1'), /client_id {6}partner-1/)
  t.match(
    await words('applications', 'list'),
    /^client id +name +developer email +status +tokens this hour \(last\)\npartner-1 +Ünï App +a@b\.example +active +0 \(0\)\n$/,
  )
  t.match(
    await words('apps', 'show', 'partner-1'),
    /suites +none\ntokens valid from +the beginning\nlast token at +never\n\nsecret +origin +created +last used +state\n1 +generated +\S+ +never +active\n$/,
  )
  t.match(await words('apps', 'suspend', 'partner-1'), 'The application partner-1 is suspended.\n')
  t.match(await words('tokens', 'revoke-all', 'partner-1'), /Every token .* is revoked\.\n$/)
  t.match(
    await words('secrets', 'rotate', 'partner-1', '--overlap', '30m'),
    /client_secret {2}\w{40}\n.*The others end at/s,
  )
  t.match(
    await words('secrets', 'list', 'partner-1'),
    /\n1 +generated +\S+ +never +ends at \S+Z\n2 +generated +\S+ +never +active\n$/,
  )
  t.match(await words('secrets', 'revoke', 'partner-1', '1'), 'The secret 1 of partner-1 is revoked.\n')
  await words('secrets', 'rotate', 'partner-1', '--overlap', '0')
  t.match(
    await words('secrets', 'list', 'partner-1'),
    /\n1 +generated +\S+ +never +revoked at \S+Z\n2 +generated +\S+ +never +expired at \S+Z\n3 +generated +\S+ +never +active\n$/,
  )
})

t.test('Commands: an imported secret comes from a file or from standard input, and is not printed', async (t) => {
  const { folder, ...options } = temporaryDatabase(t)
  const file = join(folder, 'secret')
  writeFileSync(file, 'legacy-secret-16\n')
  const fromFile = await run([...REGISTER, '--client-id', 'one', '--client-secret-file', file], options)
  t.strictSame([fromFile.status, fromFile.err], [0, WITHOUT_SUITES])
  t.match(fromFile.out, /client_secret {2}the imported one\n {2}suites {9}none\n$/)
  const two = await runJson([...REGISTER, '--client-id', 'two', '--client-secret-file', '-'], {
    ...options,
    stdin: 'legacy-secret-17\r\n',
  })
  t.strictSame(Object.keys(two), ['client_id', 'name', 'developer_email', 'status', 'suites'])
  t.match(await runJson(['secrets', 'list', 'two'], options), [{ origin: 'imported' }])
})

t.test('Commands: a registered application is shown with the suites that it is approved for', async (t) => {
  const options = temporaryDatabase(t)
  await run(['suites', 'register', 'store', '--name', 'Store API', '--create'], options)
  const { err, out } = await run(REGISTER, options)
  t.equal(err, '')
  t.match(out, /\n {2}suites {9}store\n/)
  t.strictSame((await runJson(REGISTER, options)).suites, ['store'])
})

t.test('Commands: the name and the developer email of an application are updated, each alone or both', async (t) => {
  const options = temporaryDatabase(t)
  await run([...REGISTER, '--client-id', 'a'], options)
  const update = (...args: string[]) => runJson(['apps', 'update', 'a', ...args], options)
  t.match(await update('--name', 'New'), { client_id: 'a', name: 'New', developer_email: 'a@b.example' })
  t.match(await update('--developer-email', 'c@d.example'), { name: 'New', developer_email: 'c@d.example' })
  t.match(await update('--name', 'N', '--developer-email', 'e@f.example'), {
    name: 'N',
    developer_email: 'e@f.example',
  })
  t.match(await run(['apps', 'update', 'a', '--name', 'M'], options), { out: 'The application a is updated.\n' })
  t.match(await run(['apps', 'update', 'a', '--developer-email', 'x'], options), { status: 1, err: /email address/ })
  t.match(await run(['apps', 'update', 'b', '--name', 'M'], options), { status: 1, err: /no application .* b\.$/m })
  t.match(await run(['apps', 'update', 'a'], options), { status: 2, err: /--name or --developer-email is required/ })
  t.match(await runJson(['apps', 'show', 'a'], options), { name: 'M', developer_email: 'e@f.example' })
})

t.test('Commands: applications list can be filtered by text and status, and limited to the newest', async (t) => {
  const options = temporaryDatabase(t)
  for (const [id, name, email] of [
    ['one', 'Shop', 'a@north.example'],
    ['two', 'Störe', 'b@south.example'],
    ['shop-3', 'Third', 'c@south.example'],
  ] as const) {
    await run(['apps', 'register', '--create', '--client-id', id, '--name', name, '--developer-email', email], options)
  }
  const found = async (...args: string[]) =>
    (await runJson(['apps', 'list', ...args], options)).map(({ client_id }: { client_id: string }) => client_id)
  t.strictSame(await found(), ['one', 'two', 'shop-3'])
  t.strictSame(await found('--search', 'SHOP'), ['one', 'shop-3'])
  t.strictSame(await found('--search', 'stör'), ['two'])
  t.strictSame(await found('--search', '@south'), ['two', 'shop-3'])
  t.strictSame(await found('--search', 'nothing'), [])
  await run(['apps', 'suspend', 'two'], options)
  t.strictSame(await found('--status', 'suspended'), ['two'])
  t.strictSame(await found('--status', 'active', '--search', 'shop', '--limit', '1'), ['shop-3'])
  t.strictSame(await found('--limit', '2'), ['two', 'shop-3'], 'the newest, oldest first')
  for (const limit of ['0', '-1', '1.5', 'x', '9999999999']) {
    t.match(await run(['apps', 'list', '--limit', limit], options), { status: 2, err: /whole number above 0/ })
  }
  t.match(await run(['apps', 'list', '--status', 'gone'], options), { status: 2, err: /active, suspended/ })
})

t.test('Commands: an imported secret is added to an application, and its others stay as they are', async (t) => {
  const { folder, ...options } = temporaryDatabase(t)
  await run([...REGISTER, '--client-id', 'a'], options)
  await run(['suites', 'register', 'store', '--name', 'Store API', '--create'], options)
  const addSecret = (id: string, stdin: string, ...args: string[]) =>
    run(['apps', 'add-secret', id, '--client-secret-file', '-', ...args], { ...options, stdin })
  t.match(await addSecret('a', 'legacy-secret-16\n'), { status: 0, out: /is added to a; its others stay/ })
  t.strictSame(JSON.parse((await addSecret('a', 'another-secret', '--json')).out), { client_id: 'a', status: 'added' })
  t.match(await runJson(['secrets', 'list', 'a'], options), [
    { origin: 'generated', ends_at: null },
    { origin: 'imported', ends_at: null },
    { origin: 'imported', ends_at: null },
  ])
  t.match(await addSecret('a', 'short'), { status: 1, err: /8 to 200/ })
  t.match(await addSecret('store', 'legacy-secret-16'), { status: 1, err: /no application/ }, 'suites import none')
  t.match(await run(['apps', 'add-secret', 'a', '--client-secret-file', folder], options), {
    status: 1,
    err: `Cannot read ${folder}: it is a directory.\n`,
  })
})

t.test(
  'Commands: a secret that an application has already is not added again, unless that one has ended',
  async (t) => {
    const options = temporaryDatabase(t)
    const { client_secret } = await runJson([...REGISTER, '--client-id', 'a'], options)
    const add = (stdin: string) => run(['apps', 'add-secret', 'a', '--client-secret-file', '-'], { ...options, stdin })
    t.equal((await add('imported-secret')).status, 0)
    const again = await add('imported-secret')
    t.match(again, { status: 1, err: 'a has this secret already: it is its secret 2.\n', events: [] })
    t.match((await add(client_secret)).err, /it is its secret 1\./)
    await run(['secrets', 'revoke', 'a', '2'], options)
    t.equal((await add('imported-secret')).status, 0)
  },
)

t.test('Commands: what was so before is said to have been so', async (t) => {
  const options = temporaryDatabase(t)
  for (const id of ['s1', 's2']) await run(['suites', 'register', id, '--name', id, '--create'], options)
  const suites = ['--suite', 's1', '--suite', 's1']
  const { events } = await run([...REGISTER, '--name', 'A', '--client-id', 'a', ...suites], options)
  t.match(events, [{ suites: ['s1'] }])
  const said = async (...args: string[]) => (await run(args, options)).out
  t.equal(await said('apps', 'update', 'a', '--name', 'A'), 'The application a is as it was.\n')
  t.equal(await said('apps', 'update', 'a', '--name', 'B'), 'The application a is updated.\n')
  t.equal(
    await said('apps', 'withdraw', 'a', '--suite', 's1', '--suite', 's2'),
    'The application a is no longer approved for the suite s1.\nThe application a was not approved for the suite s2.\n',
  )
  t.equal(
    await said('apps', 'withdraw', 'a', '--suite', 's1', '--suite', 's2', '--suite', 's1'),
    'The application a was not approved for the suites s1, s2.\n',
  )
  await run(['secrets', 'rotate', 'a'], options)
  t.equal(await said('secrets', 'revoke', 'a', '3'), 'The secret 3 of a is revoked.\n')
  t.equal(await said('secrets', 'revoke', 'a', '3'), 'The secret 3 of a was revoked before.\n')
})

t.test('Commands: a store in memory is refused, for it ends with its command', async (t) => {
  const env = { DATABASE_URL: 'sqlite::memory:' }
  const err = 'DATABASE_URL names a store in memory, which ends with its command: name a file.\n'
  const commands = [['suites', 'register', 'a', '--name', 'A'], ['migrate'], ['backup', 'x.db'], ['restore', 'x.db']]
  for (const args of commands) t.match(await run(args, { env }), { status: 1, out: '', err, events: [] })
})

t.test('Commands: the hash of a secret is not taken for a secret', async (t) => {
  const options = temporaryDatabase(t)
  const hashes = [
    '$2b$12$R9h/cIPz0gi.URNNX3kh2OPST9/PgBkqquzi.Ss7KIUgO2t0jWMUW',
    '$2y$10$R9h/cIPz0gi.URNNX3kh2OPST9/PgBkqquzi.Ss7KIUgO2t0jWMUW',
    '$argon2id$v=19$m=65536,t=3,p=4$c2FsdA$aGFzaA',
    '$scrypt$ln=14,r=8,p=5$AAAA$AAAA',
    '$pbkdf2-sha256$29000$c2FsdA$aGFzaA',
    'pbkdf2_sha256$260000$salt$hash',
    'scrypt:32768:8:1$salt$hash',
    '$6$rounds=5000$salt$hash',
    '{SSHA}aGFzaGhhc2hoYXNo',
  ]
  for (const stdin of hashes) {
    const { status, err } = await run([...REGISTER, '--client-secret-file', '-'], { ...options, stdin })
    t.equal(status, 1, stdin)
    t.match(err, /^The client secret is a hash: import the secret itself, or rotate it\.\n$/)
  }
  const stdin = '$ecret-with-a-dollar$'
  t.equal((await run([...REGISTER, '--client-secret-file', '-'], { ...options, stdin })).status, 0)
})

t.test('Commands: the last active secret is revoked only where that is forced', async (t) => {
  const options = temporaryDatabase(t)
  await run([...REGISTER, '--client-id', 'a'], options)
  await run(['secrets', 'rotate', 'a'], options)
  t.equal((await run(['secrets', 'revoke', 'a', '1'], options)).status, 0)
  t.match(await run(['secrets', 'revoke', 'a', '2'], options), {
    status: 1,
    err: /^The secret 2 is the last active one of a, .* rotate first, or force it\. The option for that is --force\.\n$/,
  })
  t.match(await runJson(['secrets', 'list', 'a'], options), [{ state: 'revoked' }, { state: 'active' }])
  t.equal((await run(['secrets', 'revoke', 'a', '1'], options)).status, 0, 'again')
  t.equal((await run(['secrets', 'revoke', 'a', '2', '--force'], options)).status, 0)
  t.match(await run(['secrets', 'revoke', 'a', '9'], options), { status: 1, err: /secret 9/ })
  t.match(await runJson(['secrets', 'list', 'a'], options), [{ state: 'revoked' }, { state: 'revoked' }])
})

t.test('Commands: with --json an error, wrong usage and a warning are JSON too', async (t) => {
  const options = temporaryDatabase(t)
  const errOf = async (...args: string[]) => JSON.parse((await run([...args, '--json'], options)).err)
  t.match(await errOf(...REGISTER), { warning: /approved for no suite/ })
  t.strictSame(await errOf('apps', 'show', 'nobody'), {
    error: 'There is no application with the client id nobody.',
  })
  t.match(await errOf('apps', 'show'), { error: /missing required argument 'client-id'/ })
})

t.test('Commands: columns are as wide as what is in them, and nothing commands the terminal', async (t) => {
  const options = temporaryDatabase(t)
  for (const [id, name] of Object.entries({ a: '株式会社テスト', b: 'e\u0301te', c: '👩‍💻 x', d: 'abc' })) {
    await run(
      ['apps', 'register', '--create', '--client-id', id, '--name', name, '--developer-email', 'a@b.example'],
      options,
    )
  }
  const db = new Database(options.file)
  db.exec("UPDATE applications SET name = 'ab' || char(0x202e, 0x9b) || 'c' WHERE client_id = 'd'")
  db.close()
  const [, ...rows] = (await run(['apps', 'list'], options)).out.split('\n')
  const untilStatus = rows.slice(0, 4).map((row) => row.replace(/active.*/, 'active'))
  t.strictSame(untilStatus, [
    'a          株式会社テスト   a@b.example      active',
    'b          e\u0301te              a@b.example      active',
    'c          👩‍💻 x             a@b.example      active',
    'd          ab\\u202e\\u009bc  a@b.example      active',
  ])
  t.match((await run(['apps', 'show', 'd'], options)).out, 'name               ab\\u202e\\u009bc\n')
  t.equal((await runJson(['apps', 'show', 'd'], options)).name, 'ab\u202e\u009bc')
  t.notMatch((await run(['apps', 'show', 'd', '--json'], options)).out, /[\u202e\u009b]/)
})

t.test('Commands: a rotation ends the other secrets after the overlap, by default a day', async (t) => {
  const options = temporaryDatabase(t)
  await run([...REGISTER, '--client-id', 'a'], options)
  const overlapOf = async (...args: string[]) => {
    const { others_end_at } = await runJson(['secrets', 'rotate', 'a', ...args], options)
    return Math.round((Date.parse(others_end_at) - Date.now()) / 10_000) * 10
  }
  t.equal(await overlapOf(), 24 * 3600)
  t.equal(await overlapOf('--overlap', '7d'), 7 * 24 * 3600)
  t.equal(await overlapOf('--overlap', '90s'), 90)
  t.equal(await overlapOf('--overlap', '0'), 0)
})

t.test('Commands: a failure is one sentence on standard error, with status 1', async (t) => {
  const options = temporaryDatabase(t)
  await run(['migrate'], options)
  const failures: [string[], RegExp][] = [
    [['apps', 'show', 'nobody'], /^There is no application with the client id nobody\.\n$/],
    [[...REGISTER, '--client-secret-file', '/nowhere/at/all'], /^Cannot read \/nowhere\/at\/all: ENOENT.*\.\n$/],
    [[...REGISTER, '--client-id', 'with space'], /^The client id must be .*\.\n$/],
  ]
  for (const [args, message] of failures) {
    const { status, out, err } = await run(args, options)
    t.strictSame([status, out], [1, ''])
    t.match(err, message)
  }
  const wrongSettings = await run(['apps', 'list'], { env: { PORT: 'x', HOST: '' } })
  t.equal(wrongSettings.status, 1)
  t.match(wrongSettings.err, /^HOST .*\nPORT .*\n$/)
})

t.test('Commands: where there is no database, a command says so and makes none', async (t) => {
  const { env, file, folder } = temporaryDatabase(t)
  const commands = [
    'apps list',
    'apps show a',
    'apps suspend a',
    'suites list',
    'secrets list a',
    'tokens revoke-all a',
    'suites register store --name Store',
    'apps register --name A --developer-email a@b.example',
  ]
  for (const command of commands) {
    const { status, out, err } = await run(command.split(' '), { env })
    t.strictSame([status, out], [1, ''], command)
    t.match(err, `There is no database at ${file}. If there should be a store, `)
  }
  t.strictSame(readdirSync(folder), [])
})

t.test('Commands: wrong usage is reported on standard error, with status 2', async (t) => {
  const options = temporaryDatabase(t)
  const wrong = [
    [],
    ['applications'],
    ['nonsense'],
    ['apps', 'register', '--name', 'A'],
    ['apps', 'show'],
    ['apps', 'list', '--client-secret', 'x'],
    ['secrets', 'rotate', 'a', '--overlap', '1 day'],
    ['secrets', 'rotate', 'a', '--overlap', '366d'],
    ['secrets', 'revoke', 'a', 'first'],
  ]
  for (const args of wrong) {
    const { status, out, err } = await run(args, options)
    t.strictSame([status, out], [2, ''], args.join(' '))
    t.not(err, '')
  }
})

t.test('Commands: help and version are no errors', async (t) => {
  t.match(await run(['--help']), { status: 0, out: /Usage: token-server/ })
  t.match(await run(['apps', 'register', '--help']), { status: 0, out: /--client-secret-file/ })
  t.match(await run(['apps', 'register', '--help']), { out: /--name <name> +the name of the application \(required\)/ })
  t.notMatch((await run(['apps', 'register', '--help'])).out, /--client-id.*\(required\)/)
  t.match(await run(['secrets', 'rotate', '--help']), { out: /365d at most\s+\(default: 24h\)/ })
  t.match(await run(['--version']), { status: 0, out: /^\d+\.\d+\.\d+\n$/ })
})
