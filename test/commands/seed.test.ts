import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { run, runJson } from '../support/run.ts'
import { temporaryFolder } from '../support/world.ts'

const EXAMPLE = join(import.meta.dirname, '../../seeds/applications.json')

function setting(t: Test) {
  const folder = temporaryFolder(t)
  const options = { env: { DATABASE_URL: `sqlite:${join(folder, 'store.db')}` } }
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
  })
  t.strictSame(await runJson(['seed', EXAMPLE], options), { suites: [], applications: [], existing: 4 })
  t.match(await runJson(['apps', 'list'], options), [
    { suites: ['store', 'product-information'] },
    { client_id: 'catalogue-sync', suites: ['product-information'] },
  ])
})

t.test('Seed: credentials that are brought along are taken, and the secret is not printed', async (t) => {
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

t.test('Seed: a bad file changes nothing and says where it is wrong, but repeats no secret', async (t) => {
  const { options, write } = setting(t)
  const good = { name: 'A', developer_email: 'a@b.example' }
  const bad: [unknown, RegExp][] = [
    ['{"applications":[{"client_secret":"hunter2", }]}', /seed\.json is not JSON \(line 1 column 46\)\.$/],
    ['', /is not JSON\.$/],
    [[good], /the file: /],
    [{ apps: [] }, /the file: .*apps/],
    [{ suites: [{ id: 'a/b', name: 'A' }] }, /suites\[0\]\.id: The suite id must be/],
    [
      {
        suites: [
          { id: 'a', name: 'A' },
          { id: 'a', name: 'B' },
        ],
      },
      /suites\[1\]: It stands in the list twice/,
    ],
    [{ applications: [{ ...good, suites: ['nowhere'] }] }, /^There is no suite with the id nowhere\.$/],
    [{ applications: [good, { ...good, name: 7 }] }, /applications\[1\]\.name: The name must be text$/],
    [{ applications: [{ name: 'A' }] }, /applications\[0\]\.developer_email: The developer email must be text$/],
    [
      { applications: [good, { ...good, name: 'B', client_secret: 'hunter2' }] },
      /applications\[1\]\.client_secret: .* 8 to 200/,
    ],
    [{ applications: [{ ...good, secret: 'hunter2' }] }, /applications\[0\]: .*secret/],
    [{ applications: [good, good] }, /applications\[1\]: It stands in the list twice$/],
    [
      {
        applications: [
          { ...good, client_id: 'a' },
          { ...good, name: 'B', client_id: 'a' },
        ],
      },
      /applications\[1\]: It stands/,
    ],
  ]
  for (const [content, message] of bad) {
    const { status, out, err } = await run(['seed', write(content)], options)
    t.strictSame([status, out], [1, ''])
    t.match(err.trimEnd(), message)
    t.notMatch(err, /hunter2/)
  }
  t.match(await run(['seed', '/nowhere/at/all'], options), { status: 1, err: /ENOENT/ })
  t.strictSame(await runJson(['apps', 'list'], options), [])
})

t.test('Migrate: it says what it did', async (t) => {
  const { options } = setting(t)
  t.strictSame(await runJson(['migrate'], options), { from: 0, to: 3 })
  t.strictSame(await runJson(['migrate'], options), { from: 3, to: 3 })
  t.match((await run(['migrate'], options)).out, /of version 3 already/)
  t.match((await run(['migrate'], setting(t).options)).out, /from version 0 to 3/)
})
