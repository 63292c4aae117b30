import t from 'tap'
import { difference } from '../../../src/admin/console/audit.ts'
import { age, card, facts, note, pager, section, table, time } from '../../../src/admin/console/components.ts'
import { confirm, field, formErrors } from '../../../src/admin/console/forms.ts'
import { asset, layout } from '../../../src/admin/console/layout.ts'
import { copyable } from '../../../src/admin/console/secrets.ts'
import { html } from '../../../src/web/html.ts'

const MOMENT = 1_800_000_000_000
/** What the markup of each is, or contains, or a pattern that it matches. */
const RENDERED: Record<string, [text: unknown, expected: string | RegExp][]> = {
  'a field is linked to its label, hint and error for screen readers': [
    [
      field({ label: 'Name', name: 'name' }),
      /^<div class="field"><label for="field-name">Name<\/label><input id="field-name" name="name" type="text" value="" dir="auto" autocomplete="off"><\/div>$/,
    ],
    [
      field({ label: 'Id', name: 'id', hint: 'No spaces.', error: 'A space.', isCode: true, required: true }),
      /<p class="hint" id="field-id-hint">No spaces\.<\/p>.* required class="code" .* aria-invalid="true" aria-describedby="field-id-hint field-id-error"><p class="error" id="field-id-error">A space\.<\/p>/,
    ],
  ],
  'a time has a datetime attribute, and UTC as text': [
    [time(MOMENT), /^<time datetime="2027-01-15T08:00:00\.000Z">2027-01-15 08:00 UTC<\/time>$/],
    [time(0), /^<time datetime="1970-01-01T00:00:00\.000Z">1970-01-01 00:00 UTC<\/time>$/],
    [time(null), /^<span class="quiet-text">never<\/span>$/],
    [time(undefined, 'no end'), /^<span class="quiet-text">no end<\/span>$/],
  ],
  'an age has its time, and the attribute that keeps the script from replacing it': [
    [
      age(MOMENT, MOMENT + 119_000),
      /^<time datetime="2027-01-15T08:00:00\.000Z" data-age title="2027-01-15T08:00:00\.000Z">2 min ago<\/time>$/,
    ],
    // The clocks differ.
    [age(MOMENT, MOMENT - 1000), '>0 s ago<'],
    [age(undefined, 0, 'not used yet'), /^<span class="quiet-text">not used yet<\/span>$/],
    [age(null, 0), /^<span class="quiet-text">never<\/span>$/],
  ],
  'a table labels its cells, also when rows are shown as cards': [
    [
      table('Secrets', ['Id', { label: 'Uses', kind: 'number' }], [['1', '2', html`<a href="/">x</a>`]], 'Do'),
      /<caption class="unseen">Secrets<\/caption>.*<th role="columnheader" scope="col" class="number">Uses<\/th>.*<span class="unseen">Do<\/span>.*<th role="rowheader" scope="row">1<\/th><td role="cell" class="number" data-label="Uses"><div>2<\/div><\/td>/s,
    ],
  ],
  'a confirmation says what will happen, and works without JavaScript': [
    [
      confirm({ label: 'Suspend', action: '/suspend', consequences: 'It gets no tokens.', subject: 'Shop' }),
      /^<details class="confirm"><summary class="button danger-quiet">Suspend…<span class="unseen"> Shop<\/span><\/summary>\n<form method="post" action="\/suspend"><p class="question">Suspend Shop\?.*It gets no tokens\..*<button class="button danger">Suspend<\/button>.*data-cancel hidden>/s,
    ],
    [
      confirm({ label: 'Remove', action: '/remove', consequences: '', subject: 'x' }),
      /<summary class="button danger-quiet">.*<button class="button danger">Remove<\/button>/s,
    ],
  ],
  'missing values are left out': [
    [facts([undefined, false, ['A', 'b']]), /^<dl class="facts"><div><dt>A<\/dt><dd>b<\/dd><\/div><\/dl>$/],
    [card('Tokens', 3), /^(?!.*card-hint)/s],
    [section('a', 'A', 'b'), /^(?!.*actions)/s],
    [note('quiet', 'x'), /^(?!.*role)/s],
    [formErrors([]) ?? 'nothing', 'nothing'],
    [pager([undefined, undefined], []) ?? 'nothing', 'nothing'],
  ],
  'what can be copied has a button, which its label describes': [
    [
      copyable('id', 'Client id', 'x'),
      '<button type="button" class="button" data-copy="id" aria-describedby="id-label" hidden>',
    ],
  ],
}

for (const [rule, cases] of Object.entries(RENDERED)) {
  t.test(`Console: ${rule}`, async (t) => {
    for (const [text, expected] of cases) t.match(String(text), expected)
  })
}

t.test('Console: a page shows its place in the navigation, the operator and the last result', async (t) => {
  const page = { title: 'Audit', section: '/audit', content: 'x', scripts: ['login.js'] } as const
  const text = layout(page, { operator: { name: 'anna', role: 'viewer', email: null }, done: 'It was removed.' })
  for (const part of [
    '<title>Audit · token-server</title>',
    '<h1>Audit</h1>',
    /<a href="\/audit" aria-current="page"><svg class="icon" viewBox="0 0 16 16" aria-hidden="true"><path d="[^"]+"\/><\/svg>Audit<\/a>/,
    /Signed in as .*<bdi>anna<\/bdi>.*, viewer/,
    'data-zone>Times are in UTC.</p>',
    '<form method="post" action="/logout">',
    '<div class="note good" role="status"><p>It was removed.</p></div>',
    `<script type="module" src="${asset('login.js')}"></script>`,
    '<a class="skip" href="#main">',
  ]) {
    t.match(text, part)
  }
  t.equal(text.split('aria-current').length, 2)
  const outside = layout({ title: 'Sign in', content: 'x' }, { operator: undefined })
  t.notMatch(outside, /sections|logout|class="note|class="lead|class="trail|class="actions/, 'only after signing in')
  t.match(outside, '<body class="outside">')
})

/** As text: removed parts in [- -], added ones in [+ +]. */
function read(...[before, after]: Parameters<typeof difference>): string[] {
  return [...difference(before, after).text.matchAll(/<li>(.*?)<\/li>/g)].map(([, line = '']) =>
    line
      .replace(/<(del|ins)>/g, (_tag, kind) => (kind === 'del' ? '[-' : '[+'))
      .replace(/<\/(del|ins)>/g, (_tag, kind) => (kind === 'del' ? '-]' : '+]'))
      .replace(/<[^>]+>/g, '')
      .trim(),
  )
}

const AT = '2027-01-15T08:00:00.000Z'
const SECRET = { id: 1, origin: 'generated', ends_at: null }
const LINK = { created_at: AT, ends_at: '2027-01-15T08:10:00.000Z' }
/** What is in the row already, or missing. */
const LEFT_OUT = { client_id: 'a', id: 'a', created_at: AT, tokens_valid_from: null }
const MANY = Array.from({ length: 50_000 }, (_, n) => `suite-${n}`)

const DIFFERENCES: Record<string, [...values: Parameters<typeof difference>, lines: string[]][]> = {
  'a changed value is shown before and after': [
    [{ name: 'A', status: 'active' }, { name: 'B', status: 'active' }, ['name: [-A-] → [+B+]']],
    [{ ends_at: null }, { ends_at: AT }, ['ends at: [+2027-01-15 08:00 UTC+]']],
    [{ name: 'A' }, { name: '2027-99-99T08:00:00.000Z' }, ['name: [-A-] → [+2027-99-99T08:00:00.000Z+]']],
    [{ a: 1, b: true }, { a: 2, b: { c: 1 } }, ['a: [-1-] → [+2+]', 'b: [-true-] → [+c 1+]']],
  ],
  'added and removed values have one side only': [
    [null, { name: 'A', suites: ['x'] }, ['name: [+A+]', 'suite: [+x+]']],
    [{ name: 'A', suites: ['x', 'y'] }, null, ['name: [-A-]', 'suites: [-x-] [-y-]']],
  ],
  'added and removed subjects leave out missing values and those already in the row': [
    [null, { ...LEFT_OUT, name: 'A' }, ['name: [+A+]']],
    [{ ...LEFT_OUT, name: 'A' }, null, ['name: [-A-]']],
  ],
  'of lists, only the differing entries are shown': [
    [{ suites: ['a', 'b'] }, { suites: ['b', 'c'] }, ['suites: [-a-] → [+c+]']],
    [{ suites: ['a'] }, { suites: ['a', 'b'] }, ['suite: [+b+]']],
    [{ suites: [] }, { suites: [] }, []],
    // Quadratic time would take minutes.
    [{ suites: MANY }, { suites: [...MANY, 'new'] }, ['suite: [+new+]']],
  ],
  'secrets and keys are compared by id, field by field': [
    [
      { secrets: [SECRET] },
      { secrets: [{ ...SECRET, ends_at: AT }, { id: 2 }] },
      ['secret: [+2+]', 'secret 1 ends at: [+2027-01-15 08:00 UTC+]'],
    ],
    [{ secrets: [SECRET] }, { secrets: [] }, ['secret: [-1-]']],
    [{ secrets: [SECRET] }, { secrets: [SECRET] }, []],
  ],
  'a value without a name of its own is shown part by part': [
    [{ login_links: [] }, { login_links: [LINK] }, ['login link: [+ends at 2027-01-15 08:10 UTC+]']],
    [{ links: [{ ...LINK, ends_at: null, uses: 1 }] }, { links: [] }, ['link: [-ends at none, uses 1-]']],
    [null, { matrix: [[1, 2]] }, ['matrix: [+[1,2]+]']],
  ],
}

for (const [rule, cases] of Object.entries(DIFFERENCES)) {
  t.test(`Difference: ${rule}`, async (t) => {
    for (const [before, after, lines] of cases) t.strictSame(read(before, after), lines)
  })
}

t.test('Difference: of added and removed subjects it has all fields', async (t) => {
  const fields = { name: '<b>', role: 'admin', status: 'active', suites: ['x', 'y'], secrets: [{ id: 1 }], keys: [] }
  for (const [before, after] of [
    [null, fields],
    [fields, null],
  ] as const)
    t.match(difference(before, after).text, /<li>name: .*<li>suites: .*<li>secret: /)
  for (const none of [null, {}]) t.match(difference(none, none).text, '–')
})
