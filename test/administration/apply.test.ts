import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parseDocument } from 'yaml'
import { parseApplyFile, parseSeedFile } from '../../src/administration/apply-file.ts'
import { type Present, planOf, planText } from '../../src/administration/apply-plan.ts'
import { type Fault, readDocument } from '../../src/administration/yaml-document.ts'

const SHOP = {
  client_id: 'shop',
  name: 'Shop',
  developer_email: 'dev@shop.example',
  status: 'active',
  suites: ['store', 'orders'],
  labels: { by: 'file', owner: 'web' },
  note: '',
  managed_by: '',
  quota: null,
  created_at: '2027-01-15T08:00:00.000Z',
}
const OLD = { ...SHOP, client_id: 'old', name: 'Old one' }
const STORE = {
  id: 'store',
  name: 'Store API',
  url: '',
  labels: { by: 'file' },
  note: 'N',
  created_at: SHOP.created_at,
}
const ORDERS = { ...STORE, id: 'orders', name: 'Orders', labels: {} }
const PRESENT = { suite: [STORE, ORDERS], application: [SHOP, OLD] }

/** The plan of `apply`, or of `seed`, for a file, which may be an object. */
async function plan(file: string | object, options: Parameters<typeof planOf>[2] = {}, present: Present = PRESENT) {
  const content = typeof file === 'string' ? file : JSON.stringify(file)
  const parse = options.isSeed ? parseSeedFile : parseApplyFile
  return planOf(parse('apps.yaml', content), present, options)
}

/** The lines of the problems of a file. */
async function problems(...planned: Parameters<typeof plan>): Promise<string[]> {
  const { message } = (await plan(...planned).catch((error: Error) => error as Error & { message: string })) as Error
  const [head, ...lines] = message.split('\n  ')
  t.equal(head, 'Nothing was changed. Problems in the file:')
  return lines
}

t.test('Apply: the example has a plan, and each field is known', async (t) => {
  const example = join(import.meta.dirname, '../../examples/apply/applications.yaml')
  const options = { prune: 'managed-by=repository' }
  const { changes, ...counts } = await plan(readFileSync(example, 'utf8'), options, { suite: [], application: [] })
  t.strictSame(counts, { add: 4, change: 0, remove: 0, unchanged: 0 })
  t.match(changes.at(-1), {
    id: 'night-reports',
    before: null,
    after: { status: 'suspended', suites: ['orders', 'reports'] },
  })
})

t.test('Apply: each field that differs is a change, and what the file does not name is none', async (t) => {
  const one = async (entry: object, list = 'applications') => (await plan({ [list]: [entry] })).changes
  const same = { ...SHOP, suites: ['orders', 'store', 'store'], created_at: undefined }
  for (const entry of [{ client_id: 'shop' }, same]) t.strictSame(await one(entry), [])
  for (const entry of [{ id: 'store' }, { ...STORE, note: 'N\n', created_at: undefined }]) {
    t.strictSame(await one(entry, 'suites'), [])
  }
  const values: [field: keyof typeof SHOP, value: unknown, text: string][] = [
    ['name', 'Big shop', 'name Shop → "Big shop"'],
    ['developer_email', 'a@b', 'developer_email dev@shop.example → a@b'],
    ['status', 'suspended', 'status active → suspended'],
    ['suites', ['orders'], 'suites -store'],
    ['labels', { owner: 'the web', team: 'a' }, 'labels +"owner=the web" +team=a -by=file -owner=web'],
    ['note', 'Two\nlines', 'note "" → "Two\\nlines"'],
    ['quota', 500, 'quota default → 500'],
  ]
  for (const [field, value, text] of values) {
    const entry = { client_id: 'shop', [field]: value }
    const change = { action: 'change', kind: 'application', id: 'shop', name: 'Shop' }
    t.strictSame(await one(entry), [{ ...change, before: { [field]: SHOP[field] }, after: { [field]: value } }])
    t.equal(planText(await plan({ applications: [entry] })).split('\n')[1], `    ${text}`)
  }
  const [renamed] = await one({ id: 'store', name: 'S' }, 'suites')
  t.match(renamed, { kind: 'suite', id: 'store', before: { name: 'Store API' }, after: { name: 'S' } })
})

t.test('Apply: a plan is a diff in the order in which it is made, with its counts', async (t) => {
  const file = {
    applications: [
      { client_id: 'shop', quota: 500, suites: ['new'], labels: SHOP.labels },
      { client_id: 'fresh', name: 'Fresh', developer_email: 'a@b', suites: ['new'], labels: { by: 'file' } },
    ],
    suites: [{ id: 'new', name: 'New API', labels: { by: 'file' } }],
  }
  const text = `+ suite new  "New API"
~ application shop  Shop
    suites +new -store -orders
    quota default → 500
+ application fresh  Fresh
- application old  "Old one"
- suite store  "Store API"

To add: 2, to change: 1, to remove: 2, unchanged: 0.`
  t.equal(planText(await plan(file, { prune: 'by=file' })), text)
  t.equal(planText(await plan({ suites: [] })), 'No changes.')
})

t.test('Apply: only what has the label is pruned, and only of the kinds that the file lists', async (t) => {
  const removed = async (file: object, prune?: string) => (await plan(file, { prune })).changes.map(({ id }) => id)
  t.strictSame(await removed({ applications: [] }, 'by=file'), ['shop', 'old'])
  t.strictSame(await removed({ suites: [] }, 'by=file'), ['store'])
  t.strictSame(await removed({ suites: [], applications: [] }, 'by=other'), [])
  for (const none of [undefined, '']) t.strictSame(await removed({ suites: [], applications: [] }, none), [])
  const kept = {
    applications: [{ client_id: 'old', labels: OLD.labels }],
    suites: [{ id: 'store', labels: STORE.labels }],
  }
  t.strictSame(await removed(kept, 'by=file'), ['shop'])
})

t.test('Apply: every problem has its line, its column and its path', async (t) => {
  const file = `suites:
  - id: store
    name: ''
  - {id: "a/b"}
applications:
  - client_id: shop
    quota: 1.5
    colour: red
    labels: {Owner: web, team: 5}
    status: paused
  - name: A
    client_secret: hunter2-hunter2
    suites: all
`
  const secret = /:12:20 applications\[1\]\.client_secret: A secret does not belong in this file: "seed"/
  t.match(await problems(file), [
    'apps.yaml:3:11 suites[0].name: The name must not be empty',
    /:4:10 suites\[1\]\.id: The suite id must be 1 to 100/,
    /:7:12 applications\[0\]\.quota: The quota must be a whole number/,
    /:8:13 applications\[0\]\.colour: There is no such field$/,
    /:9:32 applications\[0\]\.labels\.team: Invalid input: expected string, received number/,
    /:10:13 applications\[0\]\.status: The status must be active or suspended/,
    /:11:5 applications\[1\]\.client_id: The client id is missing/,
    secret,
    /:13:13 applications\[1\]\.suites: The suites must be a list$/,
  ])
  t.notMatch((await problems(file)).join(), 'hunter2')
  t.match(await problems('apps: []'), [/ file: It needs a list/, 'apps.yaml:1:7 apps: There is no such field'])
  for (const isSeed of [true, false]) {
    for (const none of ['', 'null', 'text']) t.match(await problems(none, { isSeed }), [/^apps\.yaml:1:1 file: /])
  }
  for (const none of ['{}', '[]']) {
    t.match(await problems(none), ['apps.yaml:1:1 file: It needs a list of suites or applications'])
    t.match(await plan(none, { isSeed: true }), { changes: { length: 0 } })
  }
  const many = await problems({ applications: Array(1200).fill({}) })
  t.strictSame([many.length, many.at(-1)], [1001, 'There are more.'])
})

t.test('Seed: an entry has all that a new one needs, and no secret that it imports is repeated', async (t) => {
  const file = `suites:
  - {id: a, name: A, colour: red}
applications:
  - {name: 7, developer_email: a@b, client_secret: hunter2}
  - {name: A, secret: hunter2-hunter2, suites: [store, a/b]}
  - {name: A, developer_email: a@b, suites: store}
`
  const found = await problems(file, { isSeed: true })
  t.match(found, [
    /:2:30 suites\[0\].colour: There is no such field$/,
    /:4:12 applications\[0\]\.name: The name must be text$/,
    /:4:52 applications\[0\]\.client_secret: .* 8 to 200/,
    /:5:5 applications\[1\]\.developer_email: The developer email is missing$/,
    /:5:23 applications\[1\]\.secret: There is no such field$/,
    /:5:56 applications\[1\]\.suites\[1\]: The suite id must be 1 to 100/,
    /:6:45 applications\[2\]\.suites: The suites must be a list, or "all"$/,
  ])
  t.notMatch(found.join(), 'hunter2')
  const importing = (client_secret: string) => ({
    applications: [{ name: 'A', developer_email: 'a@b', client_secret }],
  })
  const hashes = [
    '$2b$12$R9h/cIPz0gi.URNNX3kh2OPST9/PgBkqquzi.Ss7KIUgO2t0jWMUW',
    '$2y$10$R9h/cIPz0gi.URNNX3kh2OPST9/PgBkqquzi.Ss7KIUgO2t0jWMUW',
    ...['$argon2id$v=19$m=65536,t=3,p=4$c2FsdA$aGFzaA', '$scrypt$ln=14,r=8,p=5$AAAA$AAAA', '{SSHA}aGFzaGhhc2hoYXNo'],
    ...['$pbkdf2-sha256$29000$c2FsdA$aGFzaA', 'pbkdf2_sha256$260000$salt$hash', '$6$rounds=5000$salt$hash'],
    'scrypt:32768:8:1$salt$hash',
  ]
  const isHash = /applications\[0\]\.client_secret: .* is a hash: import the secret itself, or rotate it$/
  for (const hash of hashes) t.match(await problems(importing(hash), { isSeed: true }), [isHash])
  t.match(await plan(importing('$ecret-with-a-dollar$'), { isSeed: true }), { add: 1 }, 'which is no hash')
})

t.test('Seed: it takes what apply takes: a list, fields that are only shown, and the name of the file', async (t) => {
  const options = { isSeed: true }
  const none = { suite: [], application: [] }
  const page = { suites: [ORDERS], applications: [SHOP], next: null, total: 1 }
  t.match(await plan(page, options), { changes: { length: 0 }, unchanged: 2 })
  for (const list of [
    [STORE, ORDERS],
    [SHOP, OLD],
  ])
    t.match(await plan(list, options), { changes: [], unchanged: 2 })
  const file = { managed_by: 'file', suites: [STORE], applications: [{ ...SHOP, suites: ['store'] }] }
  const { changes } = await plan(file, options, none)
  t.match(changes, [{ after: { managed_by: 'file' } }, { after: { managed_by: 'file' } }])
  const marked = { ...none, suite: [{ ...ORDERS, managed_by: 'file' }] }
  t.strictSame((await plan(file, options, marked)).change, 0, 'what is not in the file keeps its mark')
  t.match(await problems({ applications: [], next: 'x' }, options), [/ next: This is one page of several/])
})

t.test('Seed: an entry that is in the file twice, and what does not fit the registry, has its place', async (t) => {
  const file = `suites:
  - {id: new, name: New}
  - {id: shop, name: Taken}
  - {id: new, name: Again}
applications:
  - {name: A, developer_email: a@b, suites: [store, x]}
  - {name: A, developer_email: a@b, client_id: orders}
  - {name: B, developer_email: a@b, client_id: b}
  - {name: A, developer_email: a@b}
  - {name: C, developer_email: a@b, client_id: b}
  - {name: D, developer_email: a@b, client_id: new}
  - {name: Old one, developer_email: dev@shop.example, suites: [gone]}
`
  t.strictSame(await problems(file, { isSeed: true }), [
    'apps.yaml:3:10 suites[1].id: The id shop is taken already.',
    'apps.yaml:4:10 suites[2].id: It has the same id as suites[0]',
    'apps.yaml:6:53 applications[0].suites[1]: There is no suite with the id x.',
    'apps.yaml:7:48 applications[1].client_id: The id orders is taken already.',
    'apps.yaml:9:12 applications[3].name: It has the same name and developer_email as applications[0]',
    'apps.yaml:10:48 applications[4].client_id: It has the same id as applications[2]',
    'apps.yaml:11:48 applications[5].client_id: It has the same id as suites[2]',
  ])
})

t.test('Apply: a file with a name marks its entries, and what it no longer lists loses the mark', async (t) => {
  const mine = { managed_by: 'mine' }
  const foreign = { ...OLD, client_id: 'foreign', managed_by: 'other' }
  const present = {
    suite: [{ ...STORE, ...mine }, ORDERS],
    application: [{ ...SHOP, ...mine }, { ...OLD, ...mine }, foreign],
  }
  const file = {
    ...mine,
    applications: [
      { client_id: 'shop', note: 'N' },
      { client_id: 'foreign', managed_by: 'own' },
    ],
  }
  const { changes, ...counts } = await plan(file, {}, present)
  t.strictSame(counts, { add: 0, change: 3, remove: 0, unchanged: 0 })
  const change = (id: string, name: string, before: object, after: object) =>
    ({ action: 'change', kind: 'application', id, name, before, after }) as const
  t.strictSame(changes, [
    change('shop', 'Shop', { note: '' }, { note: 'N' }),
    change('foreign', 'Old one', { managed_by: 'other' }, mine),
    change('old', 'Old one', mine, { managed_by: '' }),
  ])
  t.match(planText({ changes, ...counts }), '~ application old  "Old one"\n    managed_by mine → ""\n')
  const both = { ...file, suites: [] }
  t.match((await plan(both, {}, present)).changes, [{ kind: 'application' }, {}, {}, { kind: 'suite', id: 'store' }])
  const pruned = await plan(
    { ...mine, applications: [{ ...SHOP, created_at: undefined }] },
    { prune: 'by=file' },
    present,
  )
  t.match(pruned.changes, [
    { action: 'remove', id: 'old' },
    { action: 'remove', id: 'foreign' },
  ])
  const unnamed = { applications: [{ client_id: 'shop' }] }
  t.strictSame((await plan(unnamed, {}, present)).changes, [], 'a file without a name leaves marks as they are')
  for (const name of ['', 'two\nlines', 'x'.repeat(201), 5])
    t.match(await problems({ ...unnamed, managed_by: name }), [/^apps\.yaml:1:\d+ managed_by: /], String(name))
})

t.test('Apply: a list that commands or the API show is a file, and what nobody sets is ignored', async (t) => {
  const use = { tokens_this_hour: 1, tokens_last_hour: 2, last_token_at: null, tokens_valid_from: null, secrets: [] }
  for (const file of [[{ ...SHOP, ...use, quota: 5 }], { applications: [{ ...SHOP, quota: 5 }], next: null, total: 1 }])
    t.match((await plan(file)).changes, [{ id: 'shop', after: { quota: 5 } }])
  t.match((await plan([STORE, { ...ORDERS, name: 'O' }])).changes, [{ kind: 'suite', id: 'orders' }])
  const wrong = [SHOP, { ...SHOP, client_id: 'b', quota: 0 }]
  t.match(await problems(JSON.stringify(wrong, null, 1)), [
    /^apps\.yaml:35:12 applications\[1\]\.quota: The quota must/,
  ])
  t.match(await problems({ applications: [SHOP], next: 'x', total: 300 }), [/ next: This is one page of several/])
  t.match(await problems([{ name: 'neither' }]), [/ suites\[0\]\.id: The suite id is missing$/])
  t.match(await problems('[]'), [/ file: It needs a list of suites or applications$/])
})

t.test('Apply: what does not fit the registry, or the file itself, is a problem with its place', async (t) => {
  const file = `suites:
  - {id: store}
  - {id: store, name: Again}
  - {id: shop, name: Taken}
  - {id: fresh}
applications:
  - {client_id: orders, name: Taken, developer_email: a@b}
  - {client_id: new, name: New}
  - client_id: shop
    suites: [orders, nowhere, fresh, store]
  - {client_id: fresh, name: Twice, developer_email: a@b}
`
  t.strictSame(await problems(file), [
    'apps.yaml:3:10 suites[1].id: It has the same id as suites[0]',
    'apps.yaml:4:10 suites[2].id: The id shop is taken already.',
    'apps.yaml:5:5 suites[3]: It is new, so it needs name',
    'apps.yaml:7:17 applications[0].client_id: The id orders is taken already.',
    'apps.yaml:8:5 applications[1]: It is new, so it needs developer_email',
    'apps.yaml:9:16 applications[2].client_id: It has the same id as suites[2]',
    'apps.yaml:10:22 applications[2].suites[1]: There is no suite with the id nowhere.',
    'apps.yaml:11:17 applications[3].client_id: It has the same id as suites[3]',
  ])
  const pruned = { suites: [], applications: [{ client_id: 'shop', labels: { by: 'file' }, suites: ['store'] }] }
  t.match(await problems(pruned, { prune: 'by=file' }), [/suites\[0\]: There is no suite with the id store/])
  const unmarked = { suites: [{ id: 'store' }], applications: [{ client_id: 'shop', labels: { by: 'x' } }] }
  t.match(await problems(unmarked, { prune: 'by=file' }), [
    /:1:12 suites\[0\]: With --prune it needs the label by=file/,
    / applications\[0\]: With --prune/,
  ])
})

t.test('Apply and seed: what is not YAML has its place, and nothing of its text is repeated', async (t) => {
  const cases: [text: string, problem: string][] = [
    [
      'suites: [\n  {id: a',
      'apps.yaml:2:9 Flow map in block collection must be sufficiently indented and end with a }',
    ],
    ['suites: []\nsuites: []', 'apps.yaml:2:1 Map keys must be unique'],
    ['{"suites": [], "suites": []}', 'apps.yaml:1:16 Map keys must be unique'],
    ['suites: *hunter2', 'apps.yaml:1:9 This alias has no anchor before it'],
    ['suites: "\\hunter2"', 'apps.yaml:1:10 Invalid escape'],
    ['suites: []\n---\n{}', 'apps.yaml:2:1 Source contains multiple documents'],
    ['suites: !hunter2 []', 'apps.yaml:1:9 Unresolved tag'],
    ['suites: !hunter2! []', 'apps.yaml:1:9 Unresolved tag'],
    ['suites: !<hunter2', 'apps.yaml:1:9 Unresolved tag'],
    ['%hunter2\n---\n{}', 'apps.yaml:1:1 Invalid directive'],
    ['%YAML hunter2\n---\n{}', 'apps.yaml:1:7 Invalid directive'],
    ["suites: 'a' hunter2", 'apps.yaml:1:13 Unexpected scalar at node end'],
    ['<<: hunter2', 'apps.yaml:1:5 A merge key (<<) needs a map or a list of maps'],
    ['? [hunter2]\n: 1', 'apps.yaml:1:3 A key must be text'],
  ]
  for (const [text, problem] of cases) {
    for (const isSeed of [true, false]) {
      const found = await problems(text, { isSeed })
      t.equal(found[0], problem)
      t.notMatch(found.join(), 'hunter2')
    }
  }
  t.strictSame(await problems('{"suites": [{"id": "a", "id": "a"}], "colour": 1}'), [
    'apps.yaml:1:25 Map keys must be unique',
    'apps.yaml:1:48 colour: There is no such field',
  ])
})

t.test('Apply: anchors and merge keys may be used any number of times', async (t) => {
  const many = Array.from({ length: 1000 }, (_, n) => `  - {<<: *common, client_id: a${n}}\n`)
  const file = `applications:\n  - &common {client_id: a, name: A, developer_email: a@b, suites: [store]}\n${many.join('')}`
  const { changes, add } = await plan(file)
  t.equal(add, 1001)
  t.match(changes.at(-1), { id: 'a999', after: { name: 'A', suites: ['store'] } })
})

/** The value of a text, and what is wrong with it. */
function read(text: string) {
  const faults: Fault[] = []
  return { value: readDocument(parseDocument(text, { merge: true, uniqueKeys: false }), faults, faults), faults }
}

t.test('Apply: an alias repeats what the last anchor before it names; own keys go before merged ones', async (t) => {
  const cases: [text: string, value: unknown][] = [
    ['[&a {x: 1}, {<<: *a}]', [{ x: 1 }, { x: 1 }]],
    ['[&a {x: 1}, {<<: {<<: [*a, {x: 2, y: 2}]}, z: 3}]', [{ x: 1 }, { x: 1, y: 2, z: 3 }]],
    ['[&s [&a {x: 1}, &b {x: 2, y: 2}], {<<: *s}]', [[{ x: 1 }, { x: 2, y: 2 }], { x: 1, y: 2 }]],
    ['[&a {x: 1}, {!!merge <<: *a}, {!!merge from: *a}]', [{ x: 1 }, { x: 1 }, { x: 1 }]],
    ['[&a {x: 1}, {<<: *a, x: 2}, {x: 2, <<: *a}]', [{ x: 1 }, { x: 2 }, { x: 2 }]],
    ['[&a {x: 1}, &b {x: 2, y: 2}, {<<: *a, <<: *b}]', [{ x: 1 }, { x: 2, y: 2 }, { x: 1, y: 2 }]],
    ['[&a 1, &a 2, *a, &a [&a 3], *a]', [1, 2, 2, [3], 3]],
    ['[&k x, {*k : 1}, {1: one, null: none}]', ['x', { x: 1 }, { 1: 'one', null: 'none' }]],
    ['{"<<": 1, __proto__: 2, x: , ? y}', JSON.parse('{"<<": 1, "__proto__": 2, "x": null, "y": null}')],
    ['!!set {x, y}', { x: null, y: null }],
    ['!!omap [x: 1]', [null]],
    ['', null],
  ]
  for (const [text, value] of cases) t.strictSame(read(text), { value, faults: [] }, text)
  const faults: [text: string, ...faults: Fault[]][] = [
    ['[&a 1, *b]', [7, 'This alias has no anchor before it']],
    ['[*a, &a 1]', [1, 'This alias has no anchor before it']],
    ['&a [{<<: *a}]', [9, 'This alias has no anchor before it']],
    ['{<<: [{}, 1]}', [5, 'A merge key (<<) needs a map or a list of maps']],
    ['{<<}', [0, 'A merge key (<<) needs a map or a list of maps']],
    ['[&a [[{}]], {<<: *a}]', [17, 'A merge key (<<) needs a map or a list of maps']],
    ['{x: 1, [x]: 2}', [7, 'A key must be text']],
    ['{x: 1, x: 2, <<: {x: 3}}', [7, 'Map keys must be unique']],
  ]
  for (const [text, ...expected] of faults) t.strictSame(read(text).faults, expected, text)
})
