import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import t, { type Test } from 'tap'
import { REGISTER } from '../support/register.ts'
import { run, runJson } from '../support/run.ts'
import { temporaryDatabase } from '../support/temporary-database.ts'

const EXAMPLE = join(import.meta.dirname, '../../seeds/applications.json')

/** A database, and a seed file beside it. */
function setting(t: Test) {
  const { folder, ...options } = temporaryDatabase(t)
  const write = (content: unknown) => {
    const file = join(folder, 'seed.json')
    writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content))
    return file
  }
  return { options, write }
}

t.test('Seed: the example is registered once, with credentials that are printed once', async (t) => {
  const { options } = setting(t)
  const first = await run(['seed', EXAMPLE], options)
  t.equal(first.status, 0)
  t.equal(first.out.match(/client_secret {2}\w{40}/g)?.length, 4)
  t.match(first.out, /Registered 4, left 0 as they were\.\n$/)
  t.strictSame(await run(['seed', EXAMPLE], options), {
    status: 0,
    out: 'Registered 0, left 4 as they were.\n',
    err: '',
    events: [],
  })
  t.strictSame(await runJson(['seed', EXAMPLE], options), { suites: [], applications: [], existing: 4 })
  t.match(await runJson(['apps', 'list'], options), [
    { suites: ['store', 'product-information'] },
    { client_id: 'catalogue-sync', suites: ['product-information'] },
  ])
})

t.test('Seed: imported credentials are accepted, and the secret is not printed', async (t) => {
  const { options, write } = setting(t)
  const file = write({
    applications: [
      { name: 'A', developer_email: 'a@b.example', client_id: 'legacy-id', client_secret: 'legacy-secret-16' },
    ],
  })
  t.match(await run(['seed', '-'], { ...options, stdin: '{' }), { status: 1, err: /^- is not JSON/ })
  const { applications } = await runJson(['seed', file], options)
  t.strictSame(applications, [{ client_id: 'legacy-id', name: 'A', developer_email: 'a@b.example', status: 'active' }])
})

t.test('Seed: a dry run says what would be registered, and changes nothing', async (t) => {
  const { options, write } = setting(t)
  t.match(await run(['seed', EXAMPLE, '--dry-run'], options), { status: 1, err: /There is no database/ })
  await run(['suites', 'register', 'store', '--name', 'Store API', '--create'], options)
  const { out, events } = await run(['seed', EXAMPLE, '--dry-run'], options)
  t.equal(
    out,
    'Would register Product information API (suite product-information)\n' +
      'Would register Store front (store-front@partner.example)\n' +
      'Would register Catalogue sync (catalogue@partner.example)\n' +
      'Would register 3, and leave 1 as they are. Nothing was changed.\n',
  )
  t.strictSame(events, [])
  t.strictSame(await runJson(['seed', EXAMPLE, '--dry-run'], options), {
    suites: [{ id: 'product-information', name: 'Product information API' }],
    applications: [
      { name: 'Store front', developer_email: 'store-front@partner.example' },
      { client_id: 'catalogue-sync', name: 'Catalogue sync', developer_email: 'catalogue@partner.example' },
    ],
    existing: 1,
  })
  t.strictSame(await runJson(['apps', 'list'], options), [])
  t.match(await run(['seed', write({ applications: [{ name: 7 }] }), '--dry-run'], options), { status: 1 })
})

t.test('Seed: what exists with other values is said, with the command that changes it', async (t) => {
  const { options, write } = setting(t)
  await run(['suites', 'register', 'store', '--name', 'Store API', '--create'], options)
  const known = { name: 'Known', developer_email: 'a@b.example', client_id: 'known', suites: [] }
  const file = (name: string, developer_email: string) => write({ applications: [{ ...known, name, developer_email }] })
  t.equal((await run(['seed', file('Known', 'a@b.example')], options)).err, '')
  t.equal(
    (await run(['seed', file("Partner's", 'a@b.example')], options)).err,
    'Warning: known differs from the file in its name, and is left as it is. ' +
      "To change it: applications update known --name 'Partner'\\''s'\n",
  )
  t.match((await run(['seed', file('Known', 'new@b.example')], options)).err, / in its developer email, and is left/)
  t.strictSame(JSON.parse((await run(['seed', file('New', 'new@b.example'), '--dry-run', '--json'], options)).err), {
    warning:
      'known differs from the file in its name and developer email, and is left as it is. ' +
      "To change it: applications update known --name 'New' --developer-email 'new@b.example'",
  })
})

t.test('Seed: a suite with another name in the file is said, with the command that changes it', async (t) => {
  const { options, write } = setting(t)
  await run(['suites', 'register', 'store', '--name', 'Store API', '--create'], options)
  const file = write({ suites: [{ id: 'store', name: 'Shop' }] })
  const warning =
    'The suite store differs from the file in its name, and is left as it is. ' +
    "To change it: suites update store --name 'Shop'"
  t.strictSame(JSON.parse((await run(['seed', file, '--dry-run', '--json'], options)).err), { warning })
  t.equal((await run(['seed', file], options)).err, `Warning: ${warning}\n`)
  t.match(await runJson(['suites', 'list'], options), [{ name: 'Store API' }])
})

t.test('Seed: of two entries that are one, the second says which is the first and by which fields', async (t) => {
  const { options, write } = setting(t)
  const [store, other] = [
    { id: 'store', name: 'A' },
    { id: 'other', name: 'A' },
  ]
  const application = { name: 'A', developer_email: 'a@b.example' }
  const file = write({
    suites: [store, other, store],
    applications: [
      application,
      { ...application, client_id: 'a' },
      { ...application, name: 'B', client_id: 'a' },
      application,
    ],
  })
  t.equal(
    (await run(['seed', file], options)).err,
    `Nothing was changed. Problems in ${file}:
  suites[2]: It has the same id as suites[0]
  applications[2]: It has the same client_id as applications[1]
  applications[3]: It has the same name and developer_email as applications[0]
`,
  )
})

t.test('Seed: an application with another email is a new one, and the one of the same name is named', async (t) => {
  const { options, write } = setting(t)
  const store = { suites: [{ id: 'store', name: 'Store API' }] }
  const file = (...emails: string[]) =>
    write({ ...store, applications: emails.map((developer_email) => ({ name: 'App', developer_email })) })
  const { applications } = await runJson(['seed', file('old@b.example')], options)
  t.equal((await run(['seed', file('old@b.example', 'other@b.example')], options)).err, '', 'the file has both')
  const { err } = await run(['seed', file('other@b.example', 'new@b.example')], options)
  t.equal(
    err,
    `Warning: App (new@b.example) is a new application, though ${applications[0].client_id} of old@b.example has the ` +
      'same name. If that is the one that is meant: ' +
      `applications update ${applications[0].client_id} --developer-email 'new@b.example'\n`,
  )
  const many = file(...Array.from({ length: 25 }, (_, n) => `${n}@b.example`))
  const warnings = (await run(['seed', many, '--dry-run'], options)).err.trim().split('\n')
  t.equal(warnings.length, 21)
  t.equal(warnings.at(-1), 'Warning: The same holds for 5 more.')
})

t.test('Seed: applications without any suite are approved for none, which is said', async (t) => {
  const { options, write } = setting(t)
  const file = write({ applications: [{ name: 'A', developer_email: 'a@b.example' }] })
  t.match((await run(['seed', file], options)).err, /^Warning: There is no suite yet: .*approved for none/)
})

t.test('Seed: a byte order mark is accepted; what is not UTF-8 is refused with its place', async (t) => {
  const { options } = setting(t)
  const content = Buffer.from('{"suites": [\n{"id": "store", "name": "Störe"}]}')
  const marked = Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), content])
  t.match(await runJson(['seed', '-'], { ...options, stdin: marked }), { suites: [{ name: 'Störe' }] })
  const wrong = Buffer.from(content.toString('latin1').replace('\u00c3\u00b6', '\u00f6'), 'latin1')
  t.match(await run(['seed', '-'], { ...options, stdin: wrong }), {
    status: 1,
    err: 'standard input is not UTF-8 (line 2 column 28).\n',
  })
  const stdin = Buffer.from('{}\n\xff\n', 'latin1')
  t.match(await run(['seed', '-'], { ...options, stdin }), { err: /line 2 column 1/ })
})

t.test('Seed: every unknown suite and taken id is told with its place, before anything is changed', async (t) => {
  const { options, write } = setting(t)
  await run([...REGISTER, '--client-id', 'taken'], options)
  await run(['suites', 'register', 'store', '--name', 'Store API', '--create'], options)
  const application = { name: 'A', developer_email: 'a@b.example' }
  const file = write({
    suites: [{ id: 'taken', name: 'A' }],
    applications: [
      { ...application, name: 'B', suites: ['store', 'x'] },
      { ...application, client_id: 'store' },
      { ...application, name: 'C', suites: ['y'] },
    ],
  })
  t.equal(
    (await run(['seed', file], options)).err,
    `Nothing was changed. Problems in ${file}:
  suites[0].id: The id taken is taken already.
  applications[0].suites[1]: There is no suite with the id x.
  applications[1].client_id: The id store is taken already.
  applications[2].suites[0]: There is no suite with the id y.
`,
  )
  t.equal((await runJson(['apps', 'list'], options)).length, 1)
})

t.test('Seed: how long imported secrets take is said before, and on a terminal how far it is', async (t) => {
  const { options, write } = setting(t)
  const applications = Array.from({ length: 48 }, (_, n) => ({
    name: `A ${n}`,
    developer_email: 'a@b.example',
    client_secret: `imported-secret-${n}`,
    suites: [],
  }))
  const file = write({ applications })
  const { status, err } = await run(['seed', file], { ...options, isTTY: true })
  t.equal(status, 0)
  t.match(err, /^Warning: .*\n48 imported secrets are to be hashed: that takes about \d+ s\.\n/)
  t.match(err, /^\d+ of 48$/m)
})

t.test('Seed: a store that fails on the way ends it; what was registered was shown', async (t) => {
  const { options, write } = setting(t)
  const file = write({
    suites: [{ id: 'store', name: 'Store API' }],
    applications: [{ name: 'A', developer_email: 'a@b.example' }],
  })
  await run(['migrate'], options)
  const db = new Database(options.env.DATABASE_URL.slice('sqlite:'.length))
  db.exec("CREATE TRIGGER fails BEFORE INSERT ON applications BEGIN SELECT RAISE(ABORT, 'full'); END")
  const { status, out, err } = await run(['seed', file, '--json'], options)
  t.match(JSON.parse(out), { suites: [{ client_secret: /^\w{40}$/ }], applications: [], existing: 0 })
  t.equal(status, 1)
  t.match(JSON.parse(err), { error: /SQLITE_CONSTRAINT/ })
  db.exec('DROP TRIGGER fails')
  db.close()
  t.match(await runJson(['seed', file], options), { suites: [], applications: [{ name: 'A' }], existing: 1 })
})

t.test('Seed: an invalid file changes nothing; the message names the place and repeats no secret', async (t) => {
  const { options, write } = setting(t)
  const valid = { name: 'A', developer_email: 'a@b.example' }
  const invalid: [unknown, RegExp][] = [
    ['{"applications":[{"client_secret":"hunter2", }]}', /seed\.json is not JSON \(line 1 column 46\)\.$/],
    ['', /is not JSON\.$/],
    [[valid], /the file: /],
    [{ apps: [] }, /the file: .*apps/],
    [{ suites: [{ id: 'a/b', name: 'A' }] }, /suites\[0\]\.id: The suite id must be/],
    [
      {
        suites: [
          { id: 'a', name: 'A' },
          { id: 'a', name: 'B' },
        ],
      },
      /suites\[1\]: It has the same id as suites\[0\]/,
    ],
    [
      { applications: [{ ...valid, suites: ['nowhere'] }] },
      /^Nothing was changed\. .*\n {2}applications\[0\]\.suites\[0\]: There is no suite with the id nowhere\.$/,
    ],
    [{ applications: [valid, { ...valid, name: 7 }] }, /applications\[1\]\.name: The name must be text$/],
    [{ applications: [{ name: 'A' }] }, /applications\[0\]\.developer_email: The developer email is missing$/],
    [
      { applications: [valid, { ...valid, name: 'B', client_secret: 'hunter2' }] },
      /applications\[1\]\.client_secret: .* 8 to 200/,
    ],
    [{ applications: [{ ...valid, secret: 'hunter2' }] }, /applications\[0\]: .*secret/],
    [
      { applications: [{ ...valid, client_secret: '$2b$12$hunter2hunter2hunter2' }] },
      /applications\[0\]\.client_secret: The client secret is a hash/,
    ],
    [{ applications: [valid, valid] }, /applications\[1\]: It has the same .* as applications\[0\]$/],
    [
      {
        applications: [
          { ...valid, client_id: 'a' },
          { ...valid, name: 'B', client_id: 'a' },
        ],
      },
      /applications\[1\]: It has the same .* as applications\[0\]$/,
    ],
  ]
  for (const [content, message] of invalid) {
    const { status, out, err } = await run(['seed', write(content)], options)
    t.strictSame([status, out], [1, ''])
    t.match(err.trimEnd(), message)
    t.notMatch(err, /hunter2/)
  }
  t.match(await run(['seed', '/nowhere/at/all'], options), { status: 1, err: /ENOENT/ })
  t.strictSame(await runJson(['apps', 'list'], options), [])
})
