import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { run, runJson } from '../support/run.ts'
import { temporaryDatabase } from '../support/temporary-database.ts'

const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/
const REGISTER = ['applications', 'register', '--name', 'Ünï App', '--developer-email', 'a@b.example']

t.test('Commands: a registered application is shown with its credentials once, then without', async (t) => {
  const options = temporaryDatabase(t)
  const { status, out, err } = await run(REGISTER, options)
  t.strictSame([status, err], [0, ''])
  const [, id, secret] = /client_id {6}(\w{32})\n {2}client_secret {2}(\w{40})\n\n.*shown this once/s.exec(out) ?? []
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
  t.strictSame([fromFile.status, fromFile.err], [0, ''])
  t.match(fromFile.out, /client_secret {2}the imported one\n$/)
  const two = await runJson([...REGISTER, '--client-id', 'two', '--client-secret-file', '-'], {
    ...options,
    stdin: 'legacy-secret-17\r\n',
  })
  t.strictSame(Object.keys(two), ['client_id', 'name', 'developer_email', 'status'])
  t.match(await runJson(['secrets', 'list', 'two'], options), [{ origin: 'imported' }])
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
    [['apps', 'remove', 'nobody', '--json'], /^There is no application/],
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

t.test('Commands: where there is no database, what registers nothing says so and makes none', async (t) => {
  const { env, file, folder } = temporaryDatabase(t)
  const commands = [
    'apps list',
    'apps show a',
    'apps suspend a',
    'suites list',
    'secrets list a',
    'tokens revoke-all a',
  ]
  for (const command of commands) {
    const { status, out, err } = await run(command.split(' '), { env })
    t.strictSame([status, out], [1, ''], command)
    t.match(err, `There is no database at ${file} yet; `)
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
  t.match(await run(['--version']), { status: 0, out: /^\d+\.\d+\.\d+\n$/ })
})
