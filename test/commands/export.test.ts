import fs from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { Ajv } from 'ajv'
import fc from 'fast-check'
import t from 'tap'
import { parse } from 'yaml'
import { parseApplyFile } from '../../src/administration/apply-file.ts'
import { exportOf, yamlOf } from '../../src/administration/export.ts'
import { read } from '../repository/files.ts'
import { createAdminWorld } from '../support/admin.ts'
import { expectAll, fails, shell, startShell } from '../support/shell.ts'
import { temporaryDatabase } from '../support/temporary-database.ts'

const NO_CHANGES = 'No changes.\n'

const NOTE = 'Two\n  lines: #1\n\n"end"'

const EXPORTED = `suites:
  - id: orders
    name: "yes"
    labels: {}
    note: ""
    url: ""
  - id: store
    name: Store
    labels:
      owner: web
    note: |-
      Two
        lines: #1

      "end"
    url: ""
applications:
  - client_id: "#1"
    name: "null"
    developer_email: a@b.example
    status: suspended
    suites:
      - orders
      - store
    labels:
      owner: web
    note: ""
    quota: 7
    source_addresses:
      - 192.0.2.0/24
    public_labels:
      - owner
    report_only:
      - quota
    federated:
      - issuer: https://issuer.example
        subject: repo:a/b
        audience: null
        claims:
          a.b: "1"
          ref: main
        keys: null
        ends_at: 2030-01-31T11:00:00.000Z
  - client_id: b
    name: A
    developer_email: a@b.example
    status: active
    suites: []
    labels: {}
    note: ""
    quota: null
    source_addresses: []
    public_labels: []
    report_only: []
    federated: []
`

t.test('Export: a file of everything, in a fixed order and without secrets, which apply finds unchanged', async (t) => {
  const { env, run } = await startShell(t, async ({ suites, applications }) => {
    await suites.register({ suiteId: 'store', name: 'Store', labels: { owner: 'web' }, note: NOTE })
    await suites.register({ suiteId: 'orders', name: 'yes' })
    await applications.register({ clientId: 'b' })
    const more = { suites: ['store', 'orders'], status: 'suspended' as const, labels: { owner: 'web' }, quota: 7 }
    const lists = { sourceAddresses: ['192.0.2.0/24'], publicLabels: ['owner'], reportOnly: ['quota' as const] }
    const rule = { issuer: 'https://issuer.example', subject: 'repo:a/b', claims: { ref: 'main', 'a.b': '1' } }
    const federated = [{ ...rule, ends_at: '2030-01-31T12:00:00+01:00' }]
    await applications.register({ clientId: '#1', name: 'null', ...more, ...lists, federated })
  })
  const world = await createAdminWorld(t, env)
  const url = await world.listen()
  const key = join(temporaryDatabase(t).folder, 'key')
  fs.writeFileSync(key, world.keys.viewer)
  const server = ` --server ${url} --key-file ${key}`
  const answer = await world.ask('/admin/v1/export', { as: 'viewer' })
  const labelled = await world.ask('/admin/v1/export?label=owner%3Dweb', { as: 'viewer' })
  t.match([labelled.json(), labelled.json().suites.length], [{ suites: [{ id: 'store' }], applications: [{}] }, 1])
  await expectAll(t, { run }, [
    ['export', { out: EXPORTED }],
    [`export${server}`, { out: EXPORTED }],
    ['export', { json: parse(EXPORTED) }],
    ['export --label owner=web --label owner', { json: { suites: { length: 1 }, applications: { length: 1 } } }],
    ['export --label owner=app', { out: 'suites: []\napplications: []\n' }],
    ['export --key-file key', fails('--key-file is only for --server.\n')],
    ...[EXPORTED, answer.body, labelled.body].flatMap((stdin): [string, object][] => [
      ['apply --dry-run -', { stdin, out: NO_CHANGES }],
      [`apply - --dry-run${server}`, { stdin, out: NO_CHANGES }],
    ]),
  ])
  t.strictSame(answer.json(), parse(EXPORTED))
})

t.test('Export: 300 applications, applied to an empty database, are exported again to the same bytes', async (t) => {
  const many = Array.from({ length: 300 }, (_, n) => ({
    client_id: `partner-${(n * 7919) % 300}`,
    name: `Partner ${n}`,
    developer_email: `dev${n % 90}@partner.example`,
    status: n % 5 === 0 ? 'suspended' : 'active',
    suites: ['b', 'c', 'a'].slice(n % 4),
    labels: Object.fromEntries([...'zya'].slice(n % 4).map((label) => [label, `v${n}`])),
    note: n % 3 === 0 ? `Line ${n}\n\n  next: "x"` : '',
    quota: n % 2 === 0 ? n + 1 : null,
  }))
  const suites = ['b', 'a', 'c'].map((id) => ({ id, name: `Suite ${id}` }))
  const exported: string[] = []
  let file = JSON.stringify({ suites, applications: many })
  for (let round = 0; round < 2; round++) {
    const { run } = shell(temporaryDatabase(t).env)
    const apply = 'apply - --yes --create --secrets-to /dev/null'
    t.match(await run(apply, { stdin: file }), { status: 0, out: /\nAdded: 303, changed: 0, removed: 0\.\n$/ })
    file = (await run('export')).out
    exported.push(file)
    await expectAll(t, { run }, [['apply --dry-run -', { stdin: file, out: NO_CHANGES }]])
  }
  t.equal(exported[0], exported[1])
  t.match(parse(String(exported[0])), {
    suites: [{ id: 'a' }, { id: 'b' }, { id: 'c' }],
    applications: { length: 300 },
  })
})

function suitesIn(content: string) {
  try {
    return parseApplyFile('a.yaml', content).suites
  } catch {
    return undefined
  }
}

t.test('Export: any text that a field may have is read back as it was', async (t) => {
  const text = fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('<<', 'yes', '1e3', '~', '- x', 'a: b', '---'))
  const entries = fc.record({ name: text, note: text, labels: fc.dictionary(fc.constantFrom('y', '1', 'null'), text) })
  const isRead = (entry: object) => {
    const file = { suites: [{ id: 's', ...entry }] }
    const wanted = suitesIn(JSON.stringify(file))
    // Undefined: a rule refuses it.
    return wanted === undefined || isDeepStrictEqual(suitesIn(yamlOf(file)), wanted)
  }
  t.doesNotThrow(() => fc.assert(fc.property(entries, isRead)))
})

/** What a validator says of a file, by the places of its problems. */
function createValidator(schema: object) {
  const validate = new Ajv({ allErrors: true, strict: false }).compile(schema)
  return (file: unknown) => {
    validate(file)
    return [...new Set((validate.errors ?? []).map(({ instancePath }) => instancePath))]
  }
}

t.test('Apply: its JSON Schema is printed, and is that of the editors of the example', async (t) => {
  const { env, folder } = temporaryDatabase(t)
  const { status, out, err } = await shell(env).run('apply --schema')
  t.strictSame([status, err], [0, ''])
  t.equal(out, read('docs/apply.schema.json'))
  t.strictSame(fs.readdirSync(folder), [])
  const example = read('examples/apply/applications.yaml')
  const [, place = ''] = /^# yaml-language-server: \$schema=(\S+)\n/.exec(example) ?? []
  t.equal(read(join('examples/apply', place)), out)
  t.notMatch(out, /\\p\{|\(\?</, 'expressions that Python or Go do not know')
  const problemsOf = createValidator(JSON.parse(out))
  t.strictSame(problemsOf(parse(example)), [])
  t.strictSame(problemsOf(parse(EXPORTED)), [])
  const wrong = {
    suites: [{ id: 'a b', name: '' }, { name: 'No id' }],
    applications: [
      { client_id: 'a', developer_email: 'no address', status: 'paused', suites: 'all', quota: 0, colour: 'blue' },
      { client_id: 'b', client_secret: 'hunter2 hunter2', labels: { a: 1 }, note: 'x'.repeat(2001), quota: null },
    ],
    next: 'MQ',
  }
  const [first, second] = ['/applications/0', '/applications/1']
  t.strictSame(problemsOf(wrong).sort(), [
    ...[first, ...['quota', 'status', 'suites'].map((field) => `${first}/${field}`)],
    ...['client_secret', 'labels/a', 'note'].map((field) => `${second}/${field}`),
    ...['/next', '/suites/0/id', '/suites/0/name', '/suites/1'],
  ])
  for (const nothing of [{}, { applications: {} }, []]) t.not(problemsOf(nothing).length, 0)
})

t.test('Apply: its JSON Schema knows every field that commands and the API show', async (t) => {
  const problemsOf = createValidator(JSON.parse(read('docs/apply.schema.json')))
  const world = await createAdminWorld(t)
  await world.administration.suites.register({ suiteId: 's', name: 'S' })
  await world.administration.applications.register({ clientId: 'a', name: 'A', developerEmail: 'a@b' })
  for (const path of ['applications', 'suites', 'export']) {
    t.strictSame(problemsOf((await world.ask(`/admin/v1/${path}`, { as: 'viewer' })).json()), [], path)
  }
})

t.test('Export: other requests are handled while thousands of entries are exported', async (t) => {
  let turns = 0
  function count() {
    turns++
    timer = setImmediate(count)
  }
  let timer = setImmediate(count)
  const list = async () => Array.from({ length: 2000 }, (_, n) => ({ id: `s-${n}`, labels: {} }))
  t.equal((await exportOf({ list })).suites.length, 2000)
  clearImmediate(timer)
  t.ok(turns >= 40, `${turns}`)
})
