import t from 'tap'
import { REGISTER } from '../support/register.ts'
import { run, runJson } from '../support/run.ts'
import { SQLITE, startPostgresStore } from '../support/stores.ts'
import { temporaryDatabase } from '../support/temporary-database.ts'

const STORE = ['suites', 'register', 'store', '--name', 'Store API', '--create']
const PRODUCTS = ['suites', 'register', 'product-information', '--name', 'Product information API']

t.test('Suites: they are registered with credentials that are shown once, listed, shown and removed', async (t) => {
  const options = temporaryDatabase(t)
  const { id, client_id, client_secret, name } = await runJson(STORE, options)
  t.strictSame([id, client_id, name], ['store', 'store', 'Store API'])
  t.match(client_secret, /^\w{40}$/)
  t.match((await run(PRODUCTS, options)).out, /client_secret {2}\w{40}\nA generated secret is shown this once/)
  t.match(await runJson(['suites', 'list'], options), [
    { id: 'store', name: 'Store API' },
    { id: 'product-information' },
  ])
  t.match((await run(['suites', 'list'], options)).out, /^suite +name\nstore +Store API\n/)
  t.match(
    (await run(['suites', 'show', 'store'], options)).out,
    /^suite +store\nname +Store API\napproved +nobody\n\nsecret/,
  )
  t.match(await runJson(['suites', 'remove', 'store'], options), { id: 'store', status: 'removed' })
  t.match(await run(['suites', 'show', 'store'], options), { status: 1, err: 'There is no suite with the id store.\n' })
})

t.test('Suites: the name of one is updated; where it is that already, that is said', async (t) => {
  const options = temporaryDatabase(t)
  await run(STORE, options)
  const update = ['suites', 'update', 'store', '--name', 'Shop']
  t.equal((await run(update, options)).out, 'The suite store is updated.\n')
  t.equal((await run(update, options)).out, 'The suite store is as it was.\n')
  t.match(await runJson(update, options), { id: 'store', name: 'Shop' })
  const refused = [
    [['suites', 'update', 'nobody', '--name', 'A'], 'There is no suite with the id nobody.\n'],
    [['suites', 'update', 'store', '--name', ''], 'The name must not be empty.\n'],
  ] as const
  for (const [args, err] of refused) t.match(await run([...args], options), { status: 1, err })
})

t.test('Suites: their secrets are rotated, listed and revoked like those of applications', async (t) => {
  const options = temporaryDatabase(t)
  const { client_secret } = await runJson(STORE, options)
  const rotated = await runJson(['secrets', 'rotate', 'store', '--overlap', '1h'], options)
  t.match(rotated, { client_id: 'store', client_secret: /^\w{40}$/ })
  t.not(rotated.client_secret, client_secret)
  t.match(await runJson(['secrets', 'list', 'store'], options), [
    { id: 1, ends_at: /Z$/ },
    { id: 2, ends_at: null },
  ])
  t.match(await runJson(['secrets', 'revoke', 'store', '2'], options), { client_id: 'store', id: 2 })
  t.match(await run(['secrets', 'list', 'nobody'], options), { status: 1, err: /no application and no suite/ })
})

t.test('Suites: a new one tells how many applications are not approved for it', async (t) => {
  const options = temporaryDatabase(t)
  t.equal((await runJson(STORE, options)).applications_not_approved, 0)
  await run(REGISTER, options)
  t.match((await run(PRODUCTS, options)).out, /Applications that are not approved for it: 1, which is all\.\n$/)
})

t.test('Suites: of many applications that are approved, some are named, or all where that is asked for', async (t) => {
  const options = temporaryDatabase(t)
  const applications = Array.from({ length: 12 }, (_, n) => ({
    name: `A ${n}`,
    developer_email: 'a@b.example',
    client_id: `a${n}`,
  }))
  const stdin = JSON.stringify({ suites: [{ id: 'store', name: 'Store API' }], applications })
  await run(['seed', '-'], { ...options, stdin })
  const approved = async (...args: string[]) =>
    /^approved {2}(.*)$/m.exec((await run(['suites', 'show', 'store', ...args], options)).out)?.[1]
  t.equal(await approved(), '12 applications: a0, a1, a2, a3, a4, a5, a6, a7, a8, a9 … (--all names every one)')
  const all = applications.map(({ client_id }) => client_id)
  t.equal(await approved('--all'), all.join(', '))
  t.strictSame((await runJson(['suites', 'show', 'store'], options)).approved, all)
})

t.test(
  'Approvals: an option may be repeated, for several suites at once; an unknown one changes nothing',
  async (t) => {
    const options = temporaryDatabase(t)
    await run([...REGISTER, '--client-id', 'a'], options)
    await run(STORE, options)
    await run(PRODUCTS, options)
    const both = ['--suite', 'store', '--suite', 'product-information']
    const suites = async () => (await runJson(['apps', 'show', 'a'], options)).suites
    t.match(await run(['apps', 'approve', 'a', '--suite', 'store', '--suite', 'nowhere'], options), { status: 1 })
    t.strictSame(await suites(), [])
    t.equal(
      (await run(['apps', 'approve', 'a', ...both], options)).out,
      'The application a is approved for the suites store, product-information.\n',
    )
    t.strictSame(await suites(), ['store', 'product-information'])
    t.strictSame(await runJson(['apps', 'withdraw', 'a', ...both], options), {
      client_id: 'a',
      suites: ['store', 'product-information'],
      status: 'withdrawn',
    })
    t.strictSame(await suites(), [])
  },
)

t.test(
  'Approvals: an application has those it was registered with, all where none is named, and later changes',
  async (t) => {
    const options = temporaryDatabase(t)
    await run(STORE, options)
    await run(PRODUCTS, options)
    await run([...REGISTER, '--client-id', 'all'], options)
    await run([...REGISTER, '--client-id', 'one', '--suite', 'store'], options)
    await run([...REGISTER, '--client-id', 'two', '--suite', 'store', '--suite', 'product-information'], options)
    const suitesOf = async (id: string) => (await runJson(['apps', 'show', id], options)).suites
    const both = ['store', 'product-information']
    t.strictSame([await suitesOf('all'), await suitesOf('one'), await suitesOf('two')], [both, ['store'], both])

    const approved = { client_id: 'one', suite: 'product-information', status: 'approved' }
    t.strictSame(await runJson(['apps', 'approve', 'one', '--suite', 'product-information'], options), approved)
    t.match(
      (await run(['apps', 'withdraw', 'one', '--suite', 'store'], options)).out,
      'The application one is no longer approved for the suite store.\n',
    )
    t.strictSame(await suitesOf('one'), ['product-information'])
    t.match((await run(['apps', 'show', 'two'], options)).out, /^suites +store, product-information$/m)
    t.match(await runJson(['suites', 'show', 'store'], options), { approved: ['all', 'two'] })
    t.match((await run(['suites', 'show', 'store'], options)).out, /^approved +all, two$/m)
    t.match(await run([...REGISTER, '--suite', 'nowhere'], options), { status: 1, err: /no suite with the id nowhere/ })
    t.match(await run(['apps', 'approve', 'one'], options), { status: 2, err: /--suite/ })
  },
)

for (const { name, createEnv } of [SQLITE, await startPostgresStore()]) {
  t.test(
    `Suites on ${name}: where there is no store the first one is refused, unless --create makes one`,
    async (t) => {
      const env = await createEnv(t)
      const place = env.DATABASE_URL.replace(/^sqlite:|(?<=\/\/).*@/, '')
      for (const args of [['suites', 'register', 'store', '--name', 'Store API'], REGISTER]) {
        const { status, out, err, events } = await run(
          args.filter((arg) => arg !== '--create'),
          { env },
        )
        t.strictSame([status, out, events], [1, '', []])
        t.match(
          err,
          /^(There is no database at \S+|The database \S+ is empty)\. If there should be a store, .*: put it back, or restore a backup\. .* `register` and `operators add` with --create make it\./,
        )
        t.match(err, place)
      }
      t.match(await runJson(STORE, { env }), { id: 'store' })
      t.match(await runJson(REGISTER, { env }), { suites: ['store'] })
    },
  )
}
