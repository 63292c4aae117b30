import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
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
      /suites\[1\]: .*appears twice/,
    ],
    [{ applications: [{ ...valid, suites: ['nowhere'] }] }, /^There is no suite with the id nowhere\.$/],
    [{ applications: [valid, { ...valid, name: 7 }] }, /applications\[1\]\.name: The name must be text$/],
    [{ applications: [{ name: 'A' }] }, /applications\[0\]\.developer_email: The developer email must be text$/],
    [
      { applications: [valid, { ...valid, name: 'B', client_secret: 'hunter2' }] },
      /applications\[1\]\.client_secret: .* 8 to 200/,
    ],
    [{ applications: [{ ...valid, secret: 'hunter2' }] }, /applications\[0\]: .*secret/],
    [{ applications: [valid, valid] }, /applications\[1\]: .*appears twice$/],
    [
      {
        applications: [
          { ...valid, client_id: 'a' },
          { ...valid, name: 'B', client_id: 'a' },
        ],
      },
      /applications\[1\]: .*appears twice$/,
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
