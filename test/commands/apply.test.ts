import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { join, relative } from 'node:path'
import { text } from 'node:stream/consumers'
import tls from 'node:tls'
import t, { type Test } from 'tap'
import { applyChange, databaseRegistry, type Registry } from '../../src/administration/apply.ts'
import type { PlannedChange } from '../../src/administration/apply-plan.ts'
import { serverRegistry } from '../../src/commands/apply-server.ts'
import { journalBeside } from '../../src/commands/secrets-file.ts'
import { createAdminWorld } from '../support/admin.ts'
import { freePort } from '../support/free-port.ts'
import { listenHere } from '../support/listen-here.ts'
import { application } from '../support/newcomers.ts'
import { AUDIT, AUTHOR } from '../support/on.ts'
import { expectAll, fails, misused, shell } from '../support/shell.ts'
import { temporaryDatabase } from '../support/temporary-database.ts'
import { ownCertificate, testByTls } from '../support/tls.ts'
import { createSigner } from '../support/workload-issuer.ts'

const STORE = { id: 'store', name: 'Store API', labels: { by: 'file' } }
const shop = (more: object = {}, n: number | string = '') => ({
  client_id: `shop${n}`,
  name: `Shop ${n}`,
  developer_email: 'dev@shop.example',
  suites: ['store'],
  labels: { by: 'file' },
  ...more,
})
const FILE = { suites: [STORE], applications: [shop(), shop({ status: 'suspended', quota: 60 }, 2)] }

/** A database with an admin listener, commands on it, and the options for each way to apply a file. */
async function setting(t: Test) {
  const { folder, env } = temporaryDatabase(t)
  const world = await createAdminWorld(t, env)
  const url = await world.listen()
  const write = (name: string, content: object | string) => {
    const file = join(folder, name)
    fs.writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content))
    return file
  }
  const server = (as: 'admin' | 'viewer' = 'admin') => ` --server ${url} --key-file ${write(as, `${world.keys[as]}\n`)}`
  const secrets = join(folder, 'secrets')
  return { ...world, ...shell(env), env, folder, url, write, server, secrets }
}

const sum = (added: number, changed: number, removed: number) =>
  new RegExp(`\nAdded: ${added}, changed: ${changed}, removed: ${removed}\\.\n$`)
const NONE = /^No changes\.\n$/

type Values = PlannedChange['after']
/** A change of some values, or a removal. */
const changed = (kind: 'application' | 'suite', id: string, name: string, before: Values, after: Values) =>
  ({ action: after ? 'change' : 'remove', kind, id, name, before, after }) as PlannedChange

for (const way of ['the database', 'a server']) {
  t.test(`Apply to ${way}: twice changes nothing, and drift is found exactly`, async (t) => {
    const { run, json, write, server, secrets, administration, store } = await setting(t)
    const to = way === 'a server' ? server() : ''
    const file = write('a.yaml', FILE)
    const dry = `apply ${file} --dry-run${to}`
    t.match(await run(dry), { status: 2, err: '', out: /^\+ suite store {2}"Store API"\n\+ application shop {2}/ })
    t.equal(await store.countApplications(), 0, 'a dry run changes nothing')
    const { out, ...rest } = await run(`apply ${file} --yes --secrets-to ${relative('', secrets)}${to}`)
    t.match({ out, ...rest }, { status: 0, err: '', out: sum(3, 0, 0) })
    t.match(out, `\nNew credentials are in ${secrets}.\n`, 'a relative name in full')
    t.equal(fs.statSync(secrets).mode & 0o777, 0o600)
    const written = fs.readFileSync(secrets, 'utf8')
    t.match(written, /client_id {6}store\n {2}client_secret {2}\w{40}\n[\s\S]*client_id {6}shop2\n/)
    const values = { name: 'Shop 2', status: 'suspended', suites: ['store'], labels: { by: 'file' } }
    const shown = { ...values, quota: 60, note: '' }
    t.match(await json('apps show shop2'), shown)
    for (const again of [dry, `apply ${file}${to}`]) await expectAll(t, { run }, [[again, NONE]])

    await administration.applications.withdraw('shop', 'store')
    await administration.applications.resume('shop2')
    await administration.applications.update('shop2', { quota: 5, note: 'not of the file' })
    await administration.suites.update('store', { name: 'By hand', note: 'kept' })
    await administration.applications.register({ name: 'Foreign' })
    const { changes, ...counts } = JSON.parse((await run(`${dry} --json`)).out)
    t.strictSame(changes, [
      changed('suite', 'store', 'By hand', { name: 'By hand' }, { name: 'Store API' }),
      changed('application', 'shop', 'Shop ', { suites: [] }, { suites: ['store'] }),
      changed('application', 'shop2', 'Shop 2', { status: 'active', quota: 5 }, { status: 'suspended', quota: 60 }),
    ])
    t.strictSame(counts, { add: 0, change: 3, remove: 0, unchanged: 0 })
    const before = await store.listAuditEvents({ limit: 100 })
    await expectAll(t, { run }, [[`apply ${file} --yes --secrets-to ${secrets}${to}`, sum(0, 3, 0)]])
    t.equal(fs.readFileSync(secrets, 'utf8'), written, 'there are no new ones')
    const events = (await store.listAuditEvents({ limit: 100 })).slice(0, -before.length)
    const changedBy = way === 'a server' ? 'API' : 'command line'
    const found = events.map(({ action, subject, origin }) => `${action}, ${subject.id}: ${origin}`)
    const updated = ['application updated, shop2', 'application updated, shop', 'suite updated, store']
    t.strictSame(
      found,
      updated.map((one) => `${one}: ${changedBy}`),
      'one audit event for each',
    )
    t.match(await json('apps show shop2'), { ...shown, note: 'not of the file' })

    const pruned = write('b.yaml', { suites: [], applications: [shop({ suites: [] })] })
    await expectAll(t, { run }, [
      [`apply ${pruned} --yes --prune by=file${to}`, sum(0, 1, 2)],
      ['apps list', { json: [{ client_id: 'shop' }, { name: 'Foreign' }] }],
      ['suites list', { json: [] }],
    ])
  })
}

for (const way of ['the database', 'a server']) {
  t.test(`Apply to ${way}: a file with a name marks what it lists, until it lists it no longer`, async (t) => {
    const { run, json, write, server, secrets, clock } = await setting(t)
    const options = `--yes --secrets-to ${secrets}${way === 'a server' ? server() : ''}`
    const marked = { managed_by: 'repository', applied_at: /^20/ }
    const unmarked = { managed_by: '', applied_at: null }
    const named = { managed_by: 'repository', ...FILE }
    await expectAll(t, { run }, [
      [`apply ${write('a', FILE)} ${options}`, sum(3, 0, 0)],
      ['apps show shop', { json: unmarked }],
      [`apply ${write('b', named)} ${options}`, sum(0, 3, 0)],
      ['apps show shop', { json: marked }],
      ['suites show store', { json: marked }],
      [`apply ${write('b', named)} ${options}`, NONE],
    ])
    const { applied_at: before } = await json('apps show shop')
    clock.time += 5000
    const warned = { err: 'Warning: It is managed by repository, which may undo this: change it there, too.\n' }
    await expectAll(t, { run }, [
      ['apps update shop --note hand', warned],
      ['apps suspend shop', warned],
      ['apps suspend shop', {}],
      ['apps withdraw shop --suite store', warned],
      ['suites update store --name Hand', warned],
      [`apply ${write('c', { applications: [shop({ note: 'other' })] })} ${options}`, sum(0, 1, 0)],
    ])
    t.match(await json('apps show shop'), { ...marked, applied_at: before }, 'by hand, and by a file without a name')
    await expectAll(t, { run }, [
      [`apply ${write('d', { ...named, applications: [shop({ status: 'active' })] })} ${options}`, sum(0, 3, 0)],
      ['apps show shop2', { json: unmarked }],
      ['apps list', { json: [marked, unmarked] }],
      ['apps remove shop', warned],
      ['apps remove shop2', {}],
      ['suites remove store', warned],
      [`apply ${write('b', named)} ${options}`, sum(3, 0, 0)],
      ['apps list', { json: [marked, marked] }],
      ['suites list', { json: [marked] }],
      [`apply ${write('b', named)} ${options}`, NONE],
    ])
  })
}

for (const way of ['the database', 'a server']) {
  t.test(`Apply to ${way}: an application has the federated credentials of the file, and no others`, async (t) => {
    const { run, json, write, server, secrets } = await setting(t)
    const to = way === 'a server' ? server() : ''
    const rule = (subject: string, more: object = {}) => ({ issuer: 'https://issuer.example', subject, ...more })
    const given = { issuer: 'spire', subject: 'spiffe://a/b', keys: [(await createSigner()).jwk] }
    const file = (name: string, ...federated: object[]) =>
      write(name, { suites: [STORE], applications: [shop({ federated })] })
    const apply = (place: string) => `apply ${place} --yes --secrets-to ${secrets}${to}`
    const first = file('a', rule('one'), rule('two', { claims: { b: '2', a: '1' } }), given)
    t.match(await run(apply(first)), { status: 0, out: sum(2, 0, 0) })
    t.match(fs.readFileSync(secrets, 'utf8'), 'client_secret  none: it has federated credentials\n')
    const changes = file(
      'b',
      given,
      rule('two', { claims: { a: '1', b: '3' } }),
      rule('one', { ends_at: '2030-01-31T12:00:00+01:00' }),
    )
    await expectAll(t, { run }, [
      [`apply ${first} --dry-run${to}`, NONE],
      [`apply ${write('c', { applications: [shop()] })} --dry-run${to}`, NONE],
      [
        `apply ${changes} --dry-run${to}`,
        {
          status: 2,
          out: /~ application shop .*\n {4}federated \+\{"issuer".*"ends_at":"2030-01-31T11:00:00\.000Z"\} -\{"issuer"/s,
        },
      ],
      [apply(changes), sum(0, 1, 0)],
      [apply(changes), NONE],
      ['export', { out: /\n {4}federated:\n {6}- issuer: spire\n/ }],
    ])
    t.match(await json('secrets list shop'), [
      { federated: { subject: 'one' }, state: 'revoked' },
      { federated: { subject: 'two' }, state: 'revoked' },
      { federated: { subject: 'spiffe://a/b' }, state: 'active' },
      { federated: { claims: { a: '1', b: '3' } }, state: 'active' },
      { ends_at: '2030-01-31T11:00:00.000Z', state: 'active' },
    ])
    const { out } = await run('export')
    await expectAll(t, { run }, [[`apply ${write('d', out)} --dry-run${to}`, NONE]])
    t.match(await run(apply(file('e'))), { out: sum(0, 1, 0) })
    t.strictSame((await json('apps show shop')).federated, [])
    await expectAll(t, { run }, [
      [
        apply(file('f', rule('a*'))),
        fails(/f:1:\d+ applications\[0\]\.federated\[0\]\.subject: In the subject, \* must be/),
      ],
      [apply(file('g', { ...rule('a'), secret: 'x' })), fails(/federated\[0\]\.secret: There is no such field/)],
    ])
    const bare = [shop({ federated: [rule('a')] }, 2)]
    await expectAll(t, { run }, [
      [
        `apply ${write('h', { applications: bare })} --yes${to}`,
        { err: '', out: /unchanged: 0\.\nAdded: 1, changed: 0, removed: 0\.\n$/ },
      ],
      [
        `apply ${write('i', { applications: [...bare, shop({}, 3)] })} --yes${to}`,
        { ...fails(/--secrets-to/), out: /To add: 1/ },
      ],
    ])
  })
}

t.test('Apply: what a server lists can be applied to it without a change, and to an empty one', async (t) => {
  const { run, json, write, server, secrets, administration, keys, url } = await setting(t)
  await administration.suites.register({ suiteId: 'store', name: 'Store', labels: { by: 'hand' }, note: 'Two\nlines' })
  await administration.applications.register({ clientId: 'bare', name: 'Bare' })
  const more = { suites: ['store'], status: 'suspended' as const, labels: { a: 'b' }, note: 'N', quota: 7 }
  await administration.applications.register({ clientId: 'full', name: 'Full: "x"', ...more })
  const listed = { suites: await json('suites list'), applications: await json('applications list') }
  const headers = { authorization: `Bearer ${keys.viewer}` }
  const page = async (kind: string) => (await fetch(`${url}/admin/v1/${kind}`, { headers })).json()
  const files = [listed.suites, listed.applications, listed, await page('suites'), await page('applications')]
  for (const file of files) await expectAll(t, { run }, [[`apply ${write('one', file)} --dry-run${server()}`, NONE]])
  const empty = await setting(t)
  t.match(await empty.run(`apply ${write('all', listed)} --yes --secrets-to ${secrets}`), { out: sum(3, 0, 0) })
  const set = ({ created_at, ...rest }: Record<string, unknown>) => rest
  t.strictSame((await empty.json('applications list')).map(set), listed.applications.map(set))
  t.strictSame((await empty.json('suites list')).map(set), listed.suites.map(set))
})

t.test('Apply to a server: several changes are made at once, and each that can be made is', async (t) => {
  const { run, write, server, secrets, url, administration } = await setting(t)
  await run(`apply ${write('a.yaml', FILE)} --yes --secrets-to ${secrets}`)
  const both = Promise.withResolvers<void>()
  let arrived = 0
  const together: Fault = async ({ url = '' }, _response, pass) => {
    if (++arrived === 2) both.resolve()
    await both.promise
    // After the plan.
    if (url.endsWith('shop2')) await administration.applications.update('shop2', { name: 'By hand' })
    await pass()
  }
  const { proxied } = await startProxy(t, url, [...Array(4).fill(untouched), together, together])
  const renamed = [shop({ name: 'A' }), shop({ name: 'B' }, 2)]
  const apply = `apply ${write('b.yaml', { applications: renamed })} --yes --secrets-to ${secrets}${server()}`
  t.match(await run(apply.replace(url, proxied)), {
    status: 1,
    err: /^Warning: 1 of 2 changes were made\. Run apply again to do the rest\.\nOthers have changed the application shop2 /,
  })
  t.match(await administration.applications.show('shop'), { name: 'A' })
})

t.test('Apply: without a terminal, new secrets need a place and changes --yes, before any change', async (t) => {
  const { run, write, server, folder, store, secrets } = await setting(t)
  const file = write('a.yaml', FILE)
  const place = /^Nothing was changed: name a file for the new credentials with --secrets-to\.\n$/
  const planned = { out: /To add|"add":/ }
  await expectAll(t, { run }, [
    [`apply ${file}`, { ...fails(place), ...planned }],
    [`apply ${file} --yes`, { ...fails(place), ...planned }],
    [`apply ${file} --yes --json --secrets-to -`, { ...fails(/--secrets-to/), ...planned }],
    [`apply ${file} --json`, { ...fails(/--secrets-to/), ...planned, isTTY: true }],
    [`apply ${file} --secrets-to ${secrets}`, { ...fails(/not a terminal, so it needs --yes\.\n$/), ...planned }],
    [`apply ${file} --secrets-to ${folder}/no/file --yes`, { ...fails(/^Nothing was changed: ENOENT/), ...planned }],
    ...['no\n', 'y\n', ''].map((stdin): [string, object] => [
      `apply ${file}`,
      { ...fails(/Type yes: Nothing was changed\.\n$/), ...planned, isTTY: true, stdin },
    ]),
  ])
  fs.symlinkSync('loop', join(folder, 'loop'))
  for (const to of ['', server()])
    t.match(
      await run(`apply ${file} --yes --secrets-to ${folder}/loop${to}`),
      fails(/^Nothing was changed: (ELOOP|.*symbolic link)/),
    )
  const before = fs.readFileSync(file, 'utf8')
  fs.symlinkSync(file, join(folder, 'link'))
  fs.linkSync(file, join(folder, 'hard'))
  // Root alone can give it to somebody else; for others the hard link stands for the same check.
  const isRoot = process.geteuid?.() === 0
  execFileSync('mkfifo', [join(folder, 'fifo')])
  if (isRoot) fs.chownSync(join(folder, 'fifo'), 1, 1)
  else fs.linkSync(join(folder, 'fifo'), join(folder, 'second'))
  execFileSync('mkfifo', [join(folder, 'unread')])
  const reader = fs.openSync(join(folder, 'fifo'), fs.constants.O_RDONLY | fs.constants.O_NONBLOCK)
  t.teardown(() => fs.closeSync(reader))
  const shared = 'belongs to another user, or has another name (a hard link)'
  const unread = 'is a pipe that nobody reads, or a socket'
  for (const [name, why] of Object.entries({ fifo: shared, link: 'is a symbolic link', hard: shared, unread })) {
    const { status, err } = await run(`apply ${file} --secrets-to ${folder}/${name} --yes`)
    t.strictSame([status, err], [1, `Nothing was changed: ${folder}/${name} ${why}.\n`])
  }
  t.equal(fs.readFileSync(file, 'utf8'), before)
  t.equal(await store.countApplications(), 0)
  t.notOk(fs.readdirSync(folder).includes('secrets'))

  fs.writeFileSync(secrets, '')
  fs.chmodSync(secrets, 0o644)
  const { status, out } = await run(`apply ${file} --yes --json --secrets-to ${secrets}`)
  t.match([status, JSON.parse(out)], [0, { add: 3 }])
  t.notMatch(out, 'client_secret')
  t.equal(fs.statSync(secrets).mode & 0o777, 0o600, 'a file that others could read')
  t.match(JSON.parse(fs.readFileSync(secrets, 'utf8')), { suites: [{ id: 'store' }], applications: { length: 2 } })
})

t.test('Apply: secrets may go to what is open already, by its link in /dev', async (t) => {
  const { run, write, folder, json } = await setting(t)
  const file = write('a.yaml', FILE)
  t.match(await run(`apply ${file} --yes --secrets-to /dev/stdout`), { status: 0, out: /client_secret {2}\w{40}\n/ })
  for (const suite of await json('suites list')) await run(`suites remove ${suite.id}`)
  const open = fs.openSync(join(folder, 'open'), 'w')
  t.match(await run(`apply ${file} --yes --secrets-to /dev/fd/${open}`), { status: 0, err: '' })
  fs.closeSync(open)
  t.match(fs.readFileSync(join(folder, 'open'), 'utf8'), /client_id {6}store\n {2}client_secret {2}\w{40}\n/)
  await run('suites remove store')
  t.match(await run(`apply ${file} --yes --secrets-to /dev/fd/9999`), { status: 1, err: /^Nothing was changed: EBADF/ })
})

t.test('Apply: on a terminal it asks, and prints the secrets', async (t) => {
  const { run, json, write } = await setting(t)
  const file = write('a.yaml', FILE)
  const { status, out, err } = await run(`apply ${file}`, { isTTY: true, stdin: 'yes\n' })
  t.equal(status, 0, err)
  t.match(out, /client_secret {2}\w{40}\n\nA generated secret is shown only now/)
  t.match(out, /Registered 3, left 0 unchanged\.\nAdded: 3, changed: 0, removed: 0\.\n$/)
  t.match(await json('apps list'), [{ client_id: 'shop', status: 'active' }, { status: 'suspended' }])
})

t.test('Apply: a dry run makes no database, and a wrong place is an error', async (t) => {
  const { folder, env, file } = temporaryDatabase(t)
  const stdin = JSON.stringify(FILE)
  const { run } = shell(env)
  const warning = `Warning: There is no database at ${file}: --create creates it.\n`
  await expectAll(t, { run }, [
    ['apply - --dry-run', { status: 2, stdin, out: /\nTo add: 3, /, err: warning }],
    ['apply - --yes --secrets-to -', fails(/^There is no database/, stdin)],
    ['apply - --dry-run', fails(/^Nothing was changed\. Problems in the file:\n {2}-:1:12 suites: /, '{"suites": 5}')],
    [
      'apply - --yes --create --secrets-to -',
      fails(/ suites\[1\]\.id: It has the same id as suites\[0\]\n$/, JSON.stringify({ suites: [STORE, STORE] })),
    ],
    ['apply - --dry-run --key-file key', fails('--key-file is only for --server.\n', stdin)],
    ['apply - --dry-run --ca-file ca', fails('--ca-file is only for --server.\n', stdin)],
    ['apply', { status: 1, err: /missing required argument/ }],
    ['apply - --what', { status: 1, err: /unknown option/ }],
    ['seed', misused(/missing required argument/)],
  ])
  t.strictSame(fs.readdirSync(folder), [])
  t.match(await run('apply - --yes --create --secrets-to -', { stdin }), { status: 0, out: sum(3, 0, 0) })
})

testByTls('Apply to a server: --ca-file trusts its authority, and nothing else is trusted', async (t) => {
  const { run, write, server } = await setting(t)
  const dry = `apply ${write('a.yaml', FILE)} --dry-run${server('viewer')}`
  const { getCACertificates, setDefaultCACertificates } = tls
  const before = getCACertificates()
  t.teardown(() => setDefaultCACertificates(before))
  const own =
    /^The certificate of https:\S+ is not accepted: unable to verify the first certificate.* name that with --ca-file\.\n$/
  t.match(await run(dry), fails(own))
  const ca = write('ca.crt', ownCertificate())
  t.match(
    await run(`${dry} --ca-file ${write('no.crt', 'no')}`),
    fails(/no\.crt does not contain a certificate in PEM format\.\n$/),
  )
  const damaged = write('two.crt', ownCertificate() + ownCertificate().replace(/^MII/m, '!'))
  t.match(await run(`${dry} --ca-file ${damaged}`), fails(/^Certificate 2 in .*two\.crt cannot be read: .*\.\n$/))
  t.match(await run(`${dry} --ca-file ${ca}`), { status: 2, out: /To add: 3/ })
  t.teardown(() => Object.assign(tls, { setDefaultCACertificates }))
  Object.assign(tls, { setDefaultCACertificates: undefined })
  t.match(await run(`${dry} --ca-file ${ca}`), fails(/cannot add .*ca\.crt: set NODE_EXTRA_CA_CERTS to it\.\n$/))
})

t.test('Apply to a server: it needs a key that is valid, and an address that keeps it secret', async (t) => {
  const { run, write, server, url, keys, store, env } = await setting(t)
  const file = write('a.yaml', FILE)
  const dry = `apply ${file} --dry-run --server`
  const needsKey = fails(/^--server needs an admin key/)
  const unknown = 'otsa_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA'
  const address = fails(/^--server must be an https URL without a user \(http for this machine only\)\.\n$/)
  const elsewhere = ['http://admin.example', 'admin.example', 'ftp://127.0.0.1', 'https://a:b@admin.example']
  const header = write('header', `Authorization: Bearer ${keys.viewer}\n`)
  await expectAll(t, { run }, [
    [`${dry} ${url}`, needsKey],
    [`${dry} ${url} --key-file ${write('wrong', 'hunter2 hunter2')}`, needsKey],
    [`${dry} ${url} --key-file ${write('unknown', unknown)}`, fails(`${url}: This admin key is not valid.\n`)],
    ...elsewhere.map((other): [string, typeof address] => [`${dry} ${other} --key-file ${header}`, address]),
    [`${dry} ${url}/ --key-file ${header}`, { status: 2, out: /To add: 3/ }],
    [
      `apply ${file} --yes --secrets-to -${server('viewer')}`,
      { ...fails(/A viewer can see everything/), out: /To add/ },
    ],
  ])
  t.match(await run(`${dry} ${url}`, { env: { ...env, TOKEN_SERVER_KEY: keys.viewer } }), { status: 2 })
  t.equal(await store.countApplications(), 0)
})

type Fault = (request: IncomingMessage, response: ServerResponse, pass: () => Promise<void>) => unknown

/** A proxy before an admin listener: each fault is met by one request. Counts the requests by their methods. */
async function startProxy(t: Test, url: string, faults: Fault[]) {
  const requests: string[] = []
  const proxy = createServer(async (request, response) => {
    const { method = '', url: path, headers } = request
    requests.push(method)
    const body = await text(request)
    const pass = async () => {
      const { authorization = '', 'if-match': ifMatch, 'idempotency-key': key } = headers as Record<string, string>
      const sent = { authorization, ...(ifMatch && { 'if-match': ifMatch }), ...(key && { 'idempotency-key': key }) }
      const type = body && { 'content-type': 'application/json' }
      const answer = await fetch(url + path, { method, headers: { ...sent, ...type }, ...(body && { body }) })
      const etag = answer.headers.get('etag')
      const shown = {
        'content-type': answer.headers.get('content-type') ?? 'text/plain',
        ...(etag && { etag: `W/${etag}` }),
      }
      const content = await answer.text()
      if (!response.destroyed) response.writeHead(answer.status, shown).end(content)
    }
    const fault = faults.shift()
    await (fault ? fault(request, response, pass) : pass())
  })
  return { requests, proxied: `http://${(await listenHere(t, proxy)).address}` }
}

const untouched: Fault = (_request, _response, pass) => pass()
const lost: Fault = ({ socket }) => socket.destroy()
/** The server has done what the request says. */
const answerLost: Fault = async ({ socket }, response, pass) => {
  response.writeHead = () => response.destroy() as never
  await pass().catch(() => {})
  socket.destroy()
}
const busy =
  (status: number, headers = {}): Fault =>
  (_, response) =>
    response.writeHead(status, headers).end()

/** What another step of a registry adds. */
const after = { name: 'A', developer_email: 'a@b' }
const ADDED: PlannedChange = { action: 'add', kind: 'application', id: 'a/b', name: 'A', before: null, after }

t.test('Apply to a server: a lost connection or a busy server delays, and nothing is done twice', async (t) => {
  const { url, keys, administration, store } = await setting(t)
  const faults: Fault[] = [lost, answerLost, busy(503, { 'retry-after': '7' }), busy(429, { 'retry-after': '3600' })]
  const { proxied, requests } = await startProxy(t, url, faults)
  const waits: number[] = []
  const registry = serverRegistry(proxied, keys.admin, { wait: async (time) => void waits.push(time) })
  const [step] = await Array.fromAsync(registry.register([ADDED]))
  t.match(step?.applications, [{ clientId: 'a/b', clientSecret: /^\w{40}$/, name: 'A' }])
  t.strictSame([requests, waits], [Array(5).fill('POST'), [500, 1000, 7000, 60_000]])
  t.equal((await store.listAuditEvents({ limit: 10, subject: 'a/b' })).length, 1, 'it is registered once')

  faults.push(busy(503, { 'retry-after': new Date(0).toUTCString() }))
  await registry.list('suite')
  t.equal(waits.pop(), 500, 'a date that is over says nothing')

  faults.push(untouched, answerLost)
  await applyChange(registry, changed('application', 'a/b', 'A', { name: 'A' }, { name: 'B' }))
  t.match(await administration.applications.show('a/b'), { name: 'B' })
  t.equal((await store.listAuditEvents({ limit: 10, subject: 'a/b' })).length, 2, 'it is changed once')

  const notThis = (status: number) => `${proxied}: It answers ${status}, but not as this API does.`
  // Such as the public port answers.
  const foreign: Fault = (_, response) => response.writeHead(404).end('{"error":"invalid_request"}')
  const wrong: Fault = (_, response) =>
    response.writeHead(200, { 'content-type': 'application/json' }).end('{"suites":{}}')
  for (const [fault, message] of [
    [Array(5).fill(lost), /^http:\S+ does not answer: .+\.$/],
    [Array(5).fill(busy(503)), notThis(503)],
    [[busy(200)], notThis(200)],
    [[busy(302, { location: url })], notThis(302)],
    [[foreign], notThis(404)],
    [[wrong], /does not answer like this API\.$/],
  ] as [Fault[], string | RegExp][]) {
    faults.push(...fault)
    await t.rejects(registry.list('suite'), { message })
  }
  const newcomers = Array.from({ length: 400 }, (_, n) => application(`many-${n}`))
  await store.register({ suites: [], applications: newcomers }, AUDIT)
  t.equal(new Set((await registry.list('application')).map(({ client_id }) => client_id)).size, 401, 'three pages')
  const nowhere = serverRegistry(`http://127.0.0.1:${await freePort()}`, keys.admin, { wait: async () => {} })
  await t.rejects(nowhere.list('suite'), { message: /^http:\/\/127\.0\.0\.1:\d+ does not answer: .*ECONNREFUSED/ })
})

/** A registry in which somebody else does something before each change. */
const withOthers = (registry: Registry, others: () => Promise<unknown>): Registry => ({
  ...registry,
  async change(...change) {
    await others()
    return registry.change(...change)
  },
})

for (const way of ['the database', 'a server']) {
  t.test(`Apply to ${way}: what others have changed since the plan is left as it is`, async (t) => {
    const { url, keys, administration, context, store } = await setting(t)
    const { applications, suites, secrets } = administration
    const registry =
      way === 'a server'
        ? serverRegistry(url, keys.admin)
        : databaseRegistry((conditions) => context.administration(AUTHOR, conditions))
    const rename = (name: string, from = 'A') => changed('application', 'a', from, { name: from }, { name })
    const refused = (id: string, kind = 'application') => ({
      message: `Others have changed the ${kind} ${id} since the plan, so it is left unchanged.`,
    })
    await applications.register({ clientId: 'a' })
    await suites.register({ suiteId: 's', name: 'S' })
    let notes = 0
    const others = async () => void (notes++ < 2 && (await applications.update('a', { note: `${notes}` })))
    await applyChange(withOthers(registry, others), rename('B'))
    t.match(await applications.show('a'), { name: 'B', note: '2' })
    await applyChange(registry, rename('B'))
    await t.rejects(applyChange(registry, rename('C')), refused('a'), 'it has another name already')
    const renamed = async () => void (await applications.update('a', { name: 'By hand' }))
    await t.rejects(applyChange(withOthers(registry, renamed), rename('C', 'B')), refused('a'), 'it gets one meanwhile')
    const rotated = async () => void (await secrets.rotate('a', 0))
    await t.rejects(applyChange(withOthers(registry, rotated), rename('C', 'By hand')), refused('a'), 'again and again')
    t.match(await applications.show('a'), { name: 'By hand' })
    const unknown = { ...rename(''), before: { suites: [] }, after: { suites: ['s', 'gone'] } }
    await t.rejects(applyChange(registry, unknown), { message: /There is no suite with the id gone\.$/ })

    const removal = (name: string) => changed('suite', 's', name, { name }, null)
    await t.rejects(applyChange(registry, removal('T')), refused('s', 'suite'))
    const renamedSuite = async () => void (await suites.update('s', { name: 'T' }))
    await t.rejects(applyChange(withOthers(registry, renamedSuite), removal('S')), refused('s', 'suite'))
    await suites.update('s', { name: 'S' })
    const removed = async () => void (await suites.remove('s'))
    await applyChange(withOthers(registry, removed), removal('S'))
    await applyChange(registry, removal('S'))
    await applications.remove('a')
    await t.rejects(applyChange(registry, rename('C')), refused('a'), 'it is gone')
    t.equal((await store.listAuditEvents({ limit: 1 }))[0]?.action, 'application removed')
  })
}

for (const way of ['the database', 'a server']) {
  t.test(`Apply to ${way}: of two at once the second is refused, or finds everything done`, async (t) => {
    const { run, write, server, secrets, administration, store } = await setting(t)
    const to = way === 'a server' ? server() : ''
    const file = write('a.yaml', FILE)
    const apply = `apply ${file} --secrets-to ${secrets}${to}`
    /** Answers the question after another run of the same. */
    async function* afterAnother(): AsyncGenerator<string> {
      t.match(await run(`${apply} --yes`), { status: 0 })
      yield 'yes\n'
    }
    const twice = () => run(apply, { isTTY: true, stdin: afterAnother() })
    const taken =
      way === 'a server' ? /: The id store is taken already\.\n$/ : /printed for them are not valid: store\.\n/
    const first = await twice()
    t.match(first, { status: 1, err: taken })
    t.match(first.err, /Warning: 0 of 3 changes were made\. Run apply again to do the rest\.\n/)
    t.match(await run(apply), { status: 0, out: 'No changes.\n' })
    await administration.applications.update('shop', { name: 'By hand' })
    await administration.applications.withdraw('shop2', 'store')
    t.match(await twice(), { status: 0, out: sum(0, 2, 0) })
    t.equal((await store.listAuditEvents({ limit: 100, subject: 'shop' })).length, 3, 'it is changed once by each')
  })
}

t.test('Apply: where secrets cannot be written nothing is registered; a server has registered one', async (t) => {
  const { run, write, server, store } = await setting(t)
  const apply = `apply ${write('a.yaml', FILE)} --yes --secrets-to /dev/full`
  const lost = /The output could not be written: ENOSPC.* Entries that could not be written are not registered/
  t.match(await run(apply), { status: 1, err: new RegExp(`^Warning.* Run apply again.*\n${lost.source}\\.\n$`) })
  t.equal((await store.listSuites({ limit: 1 })).length, 0)
  t.match(await run(apply + server()), {
    status: 1,
    err: new RegExp(`${lost.source}, except for the first one: "secrets rotate"`),
  })
  t.equal((await store.listSuites({ limit: 2 })).length, 1)
})

t.test('Apply to a server: a secret that a killed run has not written is written by the next, or named', async (t) => {
  const { run, write, server, secrets, url, keys, administration } = await setting(t)
  const pending = `${secrets}.pending`
  const { client_id, ...after } = shop({ suites: [] })
  const file = { ...FILE, applications: [shop({ suites: [] }), shop({}, 2)] }
  const apply = `apply ${write('a.yaml', file)} --yes --secrets-to ${secrets}`
  const added: PlannedChange = { ...ADDED, id: client_id, after }
  /** Registers an application, and ends before its secret is written. */
  async function interrupt() {
    const journal = journalBeside(secrets)
    const [step] = await Array.fromAsync(serverRegistry(url, keys.admin, { journal }).register([added]))
    t.equal(fs.statSync(pending).mode & 0o777, 0o600)
    return step?.applications[0]?.clientSecret as string
  }
  const secret = await interrupt()
  t.notMatch(fs.readFileSync(pending, 'utf8'), secret)
  t.match(await run(apply + server()), { status: 0, out: sum(3, 0, 0), err: '' })
  t.match(fs.readFileSync(secrets, 'utf8'), `client_secret  ${secret}\n`)
  t.notOk(fs.existsSync(pending))
  t.match(await run(apply + server()), { status: 0, out: 'No changes.\n' })

  await administration.applications.remove('shop')
  await interrupt()
  const other = JSON.parse(fs.readFileSync(pending, 'utf8'))
  fs.writeFileSync(pending, JSON.stringify({ ...other, idempotencyKey: 'forgotten' }))
  t.match(await run(apply + server()), {
    status: 1,
    err: 'The secret of shop may be in no file: "secrets rotate shop" makes another one.\n',
  })
  t.notOk(fs.existsSync(pending), 'it is said once')

  await administration.applications.remove('shop2')
  fs.writeFileSync(pending, '{"id":"sho')
  t.match(await run(apply + server()), { status: 0, err: '' })
  t.notOk(fs.existsSync(pending))
  fs.symlinkSync(write('other', JSON.stringify(other)), pending)
  t.match(await run(apply + server()), { status: 1, err: /^Nothing was changed: .*pending is a symbolic link\.\n$/ })
})

t.test('Apply to a server: what a killed run asked for is sent again to the same server only', async (t) => {
  const { run, write, server, secrets, url, keys, store } = await setting(t)
  const place = `${secrets}.pending`
  const { client_id, ...after } = shop({ suites: [] })
  const added: PlannedChange = { ...ADDED, id: client_id, after }
  const left = async (base: string) => {
    const journal = journalBeside(secrets)
    const registry = serverRegistry(base, keys.admin, { journal, wait: async () => {} })
    await Array.fromAsync(registry.register([added])).catch(() => {})
    const request = fs.readFileSync(place, 'utf8')
    fs.rmSync(place)
    return request
  }
  const apply = (...applications: object[]) =>
    run(`apply ${write('a.json', { suites: [STORE], applications })} --yes --secrets-to ${secrets}${server()}`)
  const elsewhere = `http://127.0.0.1:${await freePort()}`
  const requests = { [url]: await left(url), [elsewhere]: await left(elsewhere) }
  for (const [base, other] of [
    [elsewhere, shop({ suites: [] })],
    [url, shop()],
    [url, shop({ suites: [] }, 2)],
  ] as const) {
    fs.writeFileSync(place, String(requests[base]))
    const { status, err } = await apply(other)
    t.equal(status, 1)
    t.match(err, `An earlier run may have registered shop at ${base}/admin/v1, and has not written its secret`)
    t.match(err, `Or remove ${place}: if shop is registered there, "secrets rotate shop" makes another secret.\n`)
    t.equal(fs.readFileSync(place, 'utf8'), requests[base], 'it is kept')
    t.equal((await store.listSuites({ limit: 1 })).length, 0, 'nothing else was registered')
  }
  const key = ` --server ${url} --key-file ${write('viewer', keys.viewer)}`
  const file = write('a.json', { suites: [], applications: [shop({ suites: [] })] })
  t.match(await run(`apply ${file} --yes --secrets-to ${secrets}${key}`), { status: 1, err: /A viewer/ })
  t.ok(fs.existsSync(place), 'what an earlier run has asked for may be registered')
  t.match(await apply(shop({ suites: [] }), shop({}, 2)), { status: 0, out: sum(3, 0, 0) })
  const written = fs.readFileSync(secrets, 'utf8')
  t.ok(written.indexOf('shop') < written.indexOf('store'), 'it is the first, so no other takes its place in the file')
})

t.test('Apply to a server: a request that was refused is not sent again', async (t) => {
  const { run, write, server, secrets, store } = await setting(t)
  const apply = (entry: object) =>
    `apply ${write('a.json', { suites: [STORE], applications: [entry] })} --yes --secrets-to ${secrets}`
  await run(apply(shop({ suites: [] })) + server('viewer'))
  t.notOk(fs.existsSync(`${secrets}.pending`))
  t.match(await run(apply(shop({ name: 'Another' })) + server()), { status: 0, err: '' })
  t.match(await store.findApplication('shop'), { name: 'Another', suites: ['store'] })
})

t.test('Apply to a server: a request that may have been carried out before it was refused is kept', async (t) => {
  const { url, keys, secrets } = await setting(t)
  const { proxied } = await startProxy(t, url, [answerLost, busy(403)])
  const journal = journalBeside(secrets)
  const registry = serverRegistry(proxied, keys.admin, { journal, wait: async () => {} })
  await t.rejects(Array.fromAsync(registry.register([ADDED])), { message: /It answers 403/ })
  t.match(journal?.read(), 'a/b')
})
