import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { Readable, Writable } from 'node:stream'
import Database from 'better-sqlite3'
import { Command } from 'commander'
import t from 'tap'
import { commandUser } from '../../src/commands/shared/administer.ts'
import { runCommand } from '../../src/commands/shared/process.ts'
import { prompt, type Terminal } from '../../src/commands/shared/terminal.ts'
import { OperatorError } from '../../src/domain/operator-error.ts'
import { StoreUnavailable } from '../../src/domain/store.ts'
import { LATEST, LATEST_POSTGRES } from '../support/migrations.ts'
import { startDatabases } from '../support/postgres/postgres.ts'
import { REGISTRATION_OPTIONS } from '../support/registration.ts'
import { expectAll, fails, misused, shell, startShell } from '../support/shell.ts'
import { run as runWords } from '../support/spawn.ts'
import { temporaryDatabase } from '../support/temporary-database.ts'

const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))

/** What is said where there is no store, with its place. */
const noStore = (place: string) =>
  new RegExp(
    `^(There is no database at|The database) ${place}( is empty)?\\. If there should be one, .*: put it back, or restore a backup\\. .* \`register\` or \`operators add\` with --create\\.`,
  )

t.test('Commands: a failure is one sentence on standard error, with status 1; with --json it is JSON', async (t) => {
  const { run } = await startShell(t)
  await expectAll(t, { run }, [
    ['apps show nobody', fails(/^There is no application with the client id nobody\.\n$/)],
    ['apps show nobody --json', fails(/^\{"error":"There is no application with the client id nobody\."\}\n$/)],
    ['apps show --json', misused(/^\{"error":"missing required argument 'client-id'/)],
    [`apps register ${REGISTRATION_OPTIONS} --client-id .`, fails(/^The client id must not be .*\.\n$/)],
    [`apps register ${REGISTRATION_OPTIONS}`, { json: {}, err: /^\{"warning":".*approved for no suite/ }],
  ])
  await expectAll(t, shell({ PORT: 'x', HOST: '' }), [['apps list', fails(/^HOST .*\nPORT .*\n$/)]])
})

t.test('Commands: a question after the end of the input has no answer', async (t) => {
  const stdin = Readable.from([]).resume()
  await once(stdin, 'end')
  const stderr = new Writable({ write: (_text, _encoding, done) => done() })
  t.equal(await prompt({ stdin, stderr } as unknown as Terminal, 'Name: '), undefined)
})

t.test('Commands: wrong usage is reported on standard error, with status 2', async (t) => {
  const { run } = await startShell(t)
  await expectAll(t, { run }, [
    ['applications', misused(/Usage: token-server applications/)],
    ['nonsense', misused(/unknown command 'nonsense'/)],
    ['apps register --name A', misused(/required option '--developer-email <email>'/)],
    ['apps show', misused(/missing required argument 'client-id'/)],
    ['apps list --client-secret x', misused(/unknown option '--client-secret'/)],
    ['secrets rotate a --overlap 1w', misused(/0, 90s|90s, 30m, 24h, 7d/)],
    ['secrets rotate a --overlap 366d', misused(/at most 365d/)],
    ['secrets revoke a first', misused(/must be a number from secrets list/)],
  ])
  t.match(await runWords([]), { status: 2, out: /^$/, err: /^Usage: token-server/ })
})

t.test('Commands: help and version are no errors', async (t) => {
  const db = new Database(':memory:')
  t.teardown(() => db.close())
  const sqlite = db.prepare('SELECT sqlite_version()').pluck().get()
  const { node } = process.versions
  await expectAll(t, shell({}), [
    ['--help', /^Usage: token-server/],
    ['apps register --help', /--name <name> +its name: 1 to 200 characters\s+\(required\)/],
    ['apps register --help', /-id <id> +the client id, if it\s+already\s+has\s+one \(default: a\s+new\s+one\)\n/],
    ['secrets rotate --help', /at most 365d\s+\(default: 24h\)/],
    ['--version', { out: new RegExp(`^${version}\n$`) }],
    ['version', { json: { version, node, sqlite } }],
    ['version', { out: new RegExp(`^token-server ${version}\nNode.js ${node}\nSQLite ${sqlite}\n$`) }],
  ])
})

t.test('Commands: where there is no database, a command says so and makes none', async (t) => {
  const { env, file, folder } = temporaryDatabase(t)
  const reading = ['apps list', 'apps show a', 'suites list', 'secrets list a', 'operators list', 'why a', 'audit list']
  const commands = [...reading, 'apps suspend a', 'tokens revoke-all a', 'operators add anna --role admin']
  for (const command of commands) await expectAll(t, shell(env), [[command, { status: 1, err: noStore(file) }]])
  t.strictSame(readdirSync(folder), [])
})

t.test('Commands: a store in memory is refused, for it ends with its command', async (t) => {
  const err = /^DATABASE_URL names a store in memory, which would be lost when the command ends: name a file\.\n$/
  for (const command of ['suites register a --name A', 'migrate', 'backup x.db', 'restore x.db', 'store reopen']) {
    await expectAll(t, shell({ DATABASE_URL: 'sqlite::memory:' }), [[command, { ...fails(err), events: [] }]])
  }
})

t.test('Commands: the first one that registers something makes the database only with --create', async (t) => {
  const { createEmptyDatabase } = await startDatabases()
  for (const url of [temporaryDatabase(t).env.DATABASE_URL, await createEmptyDatabase()]) {
    const place = url.replace(/^sqlite:|(?<=\/\/).*@/, '')
    const refused = { status: 1, err: noStore(place), events: [] }
    await expectAll(t, shell({ DATABASE_URL: url }), [
      ['suites register store --name Store', refused],
      [`apps register ${REGISTRATION_OPTIONS}`, refused],
      ['suites register store --name Store --create', {}],
      [`apps register ${REGISTRATION_OPTIONS} --all-suites --create`, { json: { suites: ['store'] } }],
    ])
  }
})

t.test('Migrate: it reports the version before and after', async (t) => {
  const { createEmptyDatabase } = await startDatabases()
  const databases = { [temporaryDatabase(t).env.DATABASE_URL]: LATEST, [await createEmptyDatabase()]: LATEST_POSTGRES }
  for (const [DATABASE_URL, latest] of Object.entries(databases)) {
    await expectAll(t, shell({ DATABASE_URL }), [
      ['migrate', { json: { from: 0, to: latest } }],
      ['migrate', { json: { from: latest, to: latest } }],
      ['migrate', { out: `is already at version ${latest}.` }],
    ])
  }
  const { run } = shell(temporaryDatabase(t).env)
  t.equal((await run('migrate')).out, `Migrated the database from version 0 to ${LATEST}.\n`)
})

t.test('Errors: what an operator can fix is one sentence; anything else is a bug, and shows its stack', async (t) => {
  /** Runs a command that throws this. */
  async function failWith(error: Error) {
    let err = ''
    const write = (text: string) => (err += text)
    const program = new Command('program').action(() => {
      throw error
    })
    const terminal = { env: {}, stdin: [] as never, stdout: { write }, stderr: { write } }
    return { status: await runCommand(program, [], terminal), err }
  }
  for (const error of [new OperatorError('There is no suite x.'), new StoreUnavailable('The disk is full.')]) {
    t.strictSame(await failWith(error), fails(`${error.message}\n`))
  }
  const { status, err } = await failWith(new TypeError('x is not a function'))
  t.equal(status, 1)
  t.match(err, /^This is a bug in token-server\..*\nTypeError: x is not a function\n +at .*program\.test\.ts/)
})

t.test('Audit: behind sudo its caller is named beside the user, and nobody passes as somebody else', async (t) => {
  const nameless = () => {
    throw new Error('ENOENT')
  }
  t.match(commandUser({}, nameless), /^uid \d+$/, 'a user without a name')
  const read = () => ({ username: 'token-server' })
  t.equal(commandUser({ SUDO_USER: 'anna' }, read), 'anna (token-server)')
  for (const SUDO_USER of ['', 'anna\nroot', 'token-server', undefined])
    t.equal(commandUser({ SUDO_USER }, read), 'token-server')
})
