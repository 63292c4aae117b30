import { readdirSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import t, { type Test } from 'tap'
import { carryOut } from '../../src/commands/seed.ts'
import { createSeedOutput, sayDuration } from '../../src/commands/seed-output.ts'
import { registrationJson } from '../support/registration.ts'
import { expectAll, fails, shell, startShell } from '../support/shell.ts'
import { temporaryDatabase } from '../support/temporary-database.ts'

const EXAMPLE = join(import.meta.dirname, '../../seeds/applications.json')

/** Commands on a database with the suite `store` named Store, and a way to write a seed file beside it. */
async function startSeed(t: Test) {
  const { folder, ...rest } = await startShell(t, ({ suites }) => suites.register({ suiteId: 'store', name: 'Store' }))
  let count = 0
  const write = (content: unknown) => {
    const file = join(folder, `seed-${++count}.json`)
    writeFileSync(file, JSON.stringify(content))
    return file
  }
  return { ...rest, write }
}

t.test('Seed: the example is registered once, with credentials that are printed once', async (t) => {
  const { run, json } = await startShell(t)
  const first = await run(`seed ${EXAMPLE}`)
  t.equal(first.status, 0)
  t.equal(first.out.match(/client_secret {2}\w{40}/g)?.length, 4)
  t.match(first.out, /\nA generated secret is shown only now .*\n\nRegistered 4, left 0 unchanged\.\n$/)
  t.strictSame(await json(`seed ${EXAMPLE}`), { suites: [], applications: [], existing: 4 })
  const labels = { owner: 'data-team', environment: 'test' }
  const sync = { client_id: 'catalogue-sync', suites: ['product-information'], labels, note: /night/, quota: 60 }
  await expectAll(t, { run }, [
    [`seed ${EXAMPLE}`, { out: /^Registered 0, left 4 unchanged\.\n$/, events: [] }],
    ['apps list', { json: [{ suites: ['store', 'product-information'] }, sync] }],
    ['suites list --label owner=shop-team', { json: [{ id: 'store' }] }],
  ])
})

t.test('Seed: imported credentials are accepted, and the secret is not printed', async (t) => {
  const { run } = await startShell(t)
  const one = registrationJson({ client_id: 'legacy-id' })
  const lists = { source_addresses: [], public_labels: [], report_only: [] }
  const stdin = JSON.stringify({ applications: [{ ...one, client_secret: 'legacy-secret-16' }] })
  const err = /^Warning: There is no suite yet, so no application is approved: .* "applications approve"\.\n$/
  await expectAll(t, { run }, [['seed - --dry-run', { stdin, err }]])
  const { out, events } = await run('seed - --json', { stdin })
  t.strictSame(JSON.parse(out).applications, [
    { ...one, status: 'active', labels: {}, note: '', managed_by: '', quota: null, ...lists },
  ])
  t.match(events, [{ msg: 'application registered' }])
  t.notMatch(JSON.stringify(events), 'legacy-secret-16')
})

t.test('Seed: a dry run says what would be registered, and changes nothing', async (t) => {
  const { run, json } = await startSeed(t)
  const { out, events } = await run(`seed ${EXAMPLE} --dry-run`)
  t.strictSame(events, [])
  t.strictSame(out.split('\n'), [
    'Would register Product information API (suite product-information)',
    'Would register Store front (store-front@partner.example)',
    'Would register Catalogue sync (catalogue@partner.example)',
    'Would register 3, and leave 1 unchanged. Nothing was changed.',
    '',
  ])
  t.strictSame(await json(`seed ${EXAMPLE} --dry-run`), {
    suites: [{ id: 'product-information', name: 'Product information API' }],
    applications: [
      { name: 'Store front', developer_email: 'store-front@partner.example' },
      { client_id: 'catalogue-sync', name: 'Catalogue sync', developer_email: 'catalogue@partner.example' },
    ],
    existing: 1,
  })
  t.strictSame([await json('apps list'), (await json('suites list')).length], [[], 1])
})

t.test('Seed: a missing database is named; a dry run or a wrong file makes none', async (t) => {
  const { env, file, folder } = temporaryDatabase(t)
  const { run, json } = shell(env)
  const warning = (next: string) => `Warning: There is no database at ${file}: ${next}\n`
  const later = ' From 2.0.0 on, that needs --create.'
  const one = registrationJson({})
  const wrong = [
    '{"suites": 5}',
    '{"suites": [], "suites": []}',
    JSON.stringify({ applications: [one, one] }),
    JSON.stringify({ suites: [{ id: 'new', name: 'New' }], applications: [{ ...one, suites: ['unknown'] }] }),
  ]
  const refused = (command: string, stdin: string): [string, ReturnType<typeof fails>] => [
    command,
    fails(/^Nothing was changed\. Problems in the file:\n {2}-:1:\d+ [^\n]+\n$/, stdin),
  ]
  await expectAll(t, { run }, [
    [`seed ${EXAMPLE} --dry-run`, { out: /register 4, /, err: warning(`without --dry-run, this creates it.${later}`) }],
    [`seed ${EXAMPLE} --dry-run --create`, { err: warning('without --dry-run, this creates it.') }],
    ...wrong.map((stdin) => refused('seed - --create', stdin)),
  ])
  t.strictSame(readdirSync(folder), [])
  t.match(await run(`seed ${EXAMPLE}`), { status: 0, err: new RegExp(`^Warning: .*: this creates it\\.${later}\n`) })
  t.match(await json(`seed ${EXAMPLE}`), { existing: 4 })
  await expectAll(t, { run }, [
    ...wrong.flatMap((stdin) => ['seed -', 'seed - --dry-run'].map((command) => refused(command, stdin))),
    ['suites list', { json: [{}, {}] }],
    ['apps list', { json: [{}, {}] }],
    ['seed /nowhere/at/all', fails(/^Cannot read \/nowhere\/at\/all: ENOENT/)],
  ])
  const other = join(folder, 'other.db')
  const created = await shell({ ...env, DATABASE_URL: `sqlite:${other}` }).run(`seed ${EXAMPLE} --create`)
  t.match(created, { status: 0, err: /^(?!.*Warning)/s })
  const isFolder = await shell({ DATABASE_URL: `sqlite:${folder}` }).run(`seed ${EXAMPLE} --dry-run`)
  t.match(isFolder, { status: 1, err: /it is not a file/ })
})

t.test('Seed: what exists with other values is said, with the command that changes it', async (t) => {
  const { run, json, write } = await startSeed(t)
  const seed = (...applications: object[]) => `seed ${write({ applications })}`
  const known = (name: string, developer_email: string) =>
    registrationJson({ client_id: 'known', name, developer_email, suites: [] })
  const differs = (what: string, change: string) =>
    `The application known is left unchanged, although the file has another ${what}. To change it: applications update known ${change}`
  for (let time = 0; time < 2; time++) t.equal((await run(seed(known('Known', 'a@b.example')))).err, '')
  const both = "--name 'New' --developer-email 'new@b.example'"
  const suite =
    'The suite store is left unchanged, although the file has another name. To change it: suites update store'
  const cases: [command: string, warning: string][] = [
    [seed(known("Partner's", 'a@b.example')), differs('name', "--name 'Partner'\\''s'")],
    [seed(known('Known', 'new@b.example')), differs('developer email', "--developer-email 'new@b.example'")],
    [seed(known('New', 'new@b.example')), differs('name and developer email', both)],
    [`seed ${write({ suites: [{ id: 'store', name: 'Shop' }] })}`, `${suite} --name 'Shop'`],
  ]
  for (const [command, warning] of cases) {
    t.equal((await run(command)).err, `Warning: ${warning}\n`)
    t.strictSame(JSON.parse((await run(`${command} --dry-run --json`)).err), { warning })
  }
  t.match(await json('suites list'), [{ name: 'Store' }])
})

t.test('Seed: an application with another email is a new one, and the one of the same name is named', async (t) => {
  const { run, json, write } = await startSeed(t)
  const seed = (...emails: string[]) => {
    const applications = emails.map((developer_email) =>
      registrationJson({ name: 'App', developer_email, suites: 'all' }),
    )
    return `seed ${write({ suites: [{ id: 'store', name: emails.length > 9 ? 'Renamed' : 'Store' }], applications })}`
  }
  const federated = [{ issuer: 'https://issuer.example', subject: 's' }]
  const without = await run(
    `seed ${write({ applications: [registrationJson({ client_id: 'f', name: 'Federated', federated })] })}`,
  )
  t.notMatch(without.out, 'shown only now')
  const { applications } = await json(seed('old@b.example'))
  const [{ client_id: id }] = applications
  t.equal((await run(seed('old@b.example', 'other@b.example'))).err, '', 'the file has both')
  const { out, err } = await run(seed('other@b.example', 'new@b.example'))
  t.match(out, 'A generated secret is shown only now')
  t.equal(
    err,
    `Warning: App (new@b.example) is a new application, but ${id} of old@b.example has the same name. ` +
      `If you mean that one: applications update ${id} --developer-email 'new@b.example'\n`,
  )
  const emails = Array.from({ length: 25 }, (_, n) => `${n}@b.example`)
  const warnings = (await run(`${seed(...emails)} --dry-run`)).err.trim().split('\n')
  t.match(warnings[0], 'The suite store is left unchanged')
  t.equal(warnings.length, 22, 'each kind has twenty places')
  t.equal(warnings.at(-1), 'Warning: The same applies to 5 more.')
})

t.test('Seed: a byte order mark is accepted; what is not UTF-8 is refused with its place', async (t) => {
  const { run, json } = await startShell(t)
  const content = Buffer.from('{"suites": [\n{"id": "store", "name": "Störe"}]}')
  const marked = Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), content])
  t.match(await json('seed -', { stdin: marked }), { suites: [{ name: 'Störe' }] })
  const wrong = {
    'line 2 column 28': content.toString('latin1').replace('\u00c3\u00b6', '\u00f6'),
    'line 2 column 1': '{}\n\xff\n',
  }
  for (const [place, text] of Object.entries(wrong)) {
    const err = `standard input is not UTF-8 (${place}).\n`
    t.match(await run('seed -', { stdin: Buffer.from(text, 'latin1') }), { status: 1, out: /^$/, err })
  }
})

t.test('Seed: what was printed and cannot be registered is said, and the next run registers it', async (t) => {
  const { run, json, file } = await startShell(t)
  const names = ['A', 'B']
  const stdin = JSON.stringify({
    suites: [{ id: 'store', name: 'Store' }],
    applications: names.map((name) => registrationJson({ name, client_id: name })),
  })
  const db = new Database(file)
  const again = 'Run seed again to register the rest.'
  const warning = `The last 2 credentials printed may not be valid. ${again}`
  const others = `These were changed by others since the plan, so the credentials printed for them are not valid: A, B. ${again}`
  const cases: [action: string, said: object[], existing: number][] = [
    ["ABORT, 'full'", [{ warning }, { error: /SQLITE_CONSTRAINT/ }], 0],
    ['IGNORE', [{ error: others }], 3],
  ]
  for (const [action, said, existing] of cases) {
    db.exec(`CREATE TRIGGER fails BEFORE INSERT ON applications BEGIN SELECT RAISE(${action}); END`)
    const { status, out, err } = await run('seed - --json', { stdin })
    t.match(JSON.parse(out), { applications: names.map((client_id) => ({ client_id })), existing })
    t.equal(status, 1)
    const lines = err
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    t.match(lines, said)
    db.exec('DROP TRIGGER fails')
  }
  db.close()
  t.match(await json('seed -', { stdin }), { suites: [], applications: [{ name: 'A' }, { name: 'B' }], existing: 1 })
})

t.test('Seed: how long imported secrets take is said before, and from time to time how far it is', async (t) => {
  const { now } = performance
  let seconds = 0
  t.teardown(() => Object.assign(performance, { now }))
  Object.assign(performance, { now: () => seconds * 1000 })
  let err = ''
  const stdout = { write: (_: string, done: () => void) => done() }
  const terminal = (isTTY: boolean) => ({ stdout, stderr: { write: (text: string) => (err += text), isTTY } }) as never
  /** What is said of steps of 400 that take so many seconds. */
  async function progressOf(isTTY: boolean, ...durations: number[]): Promise<string> {
    err = ''
    async function* steps() {
      for (const duration of durations) {
        seconds += duration
        yield { suites: [], applications: Array(400).fill({}), register: async () => [] }
      }
    }
    const output = createSeedOutput(terminal(isTTY), { json: true }, { existing: 0 })
    await carryOut(terminal(isTTY), {}, { steps: steps(), output, progress: { done: 0, total: 1201 }, lost: '' })
    return err
  }
  function durationOf(imported: number): string {
    err = ''
    sayDuration(terminal(true), {}, { added: Array(imported).fill({ after: { client_secret: 'x' } }) })
    return err
  }
  t.equal(await progressOf(true, 0.9, 0.2, 0.9, 0.1), '800 of 1,201\n1,600 of 1,201\n')
  t.equal(await progressOf(false, 9, 1), '800 of 1,201\n')
  const perSecond = 10 * availableParallelism()
  t.equal(durationOf(perSecond / 2 - 1), '', 'less than half a second')
  t.equal(durationOf(3 * perSecond), `Hashing ${3 * perSecond} imported secrets will take about 3 s.\n`)
})
