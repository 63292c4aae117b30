import t from 'tap'
import { checkboxes, confirm, field, formErrors, hidden, select } from '../../../src/admin/console/components/forms.ts'
import { pager, table } from '../../../src/admin/console/components/table.ts'
import {
  age,
  badge,
  card,
  emptyState,
  facts,
  name,
  note,
  section,
  time,
} from '../../../src/admin/console/components/words.ts'
import { copyable, secretBox } from '../../../src/admin/console/credentials.ts'
import { html } from '../../../src/admin/console/html.ts'

const EVIL = `"'><script>alert(1)</script>`

t.test('Console: no component renders a value as markup', async (t) => {
  const parts = [
    badge(EVIL),
    card(EVIL, EVIL, EVIL),
    checkboxes({ label: EVIL, name: EVIL, error: EVIL }, [{ value: EVIL, label: EVIL, hint: EVIL, checked: true }]),
    confirm({ label: EVIL, action: EVIL, consequences: EVIL, confirm: EVIL, inputs: EVIL, subject: EVIL }),
    copyable(EVIL, EVIL, EVIL),
    emptyState(EVIL, EVIL),
    facts([[EVIL, EVIL]]),
    field({ label: EVIL, name: EVIL, value: EVIL, hint: EVIL, error: EVIL, placeholder: EVIL }),
    formErrors([{ field: EVIL, message: EVIL }]),
    hidden({ [EVIL]: EVIL }),
    name(EVIL),
    note('bad', EVIL),
    pager({ newest: EVIL, older: EVIL }),
    secretBox([{ id: EVIL, label: EVIL, value: EVIL }], EVIL),
    section(EVIL, EVIL, EVIL, EVIL),
    select({ label: EVIL, name: EVIL }, [{ value: EVIL, label: EVIL }]),
    table(EVIL, [{ label: EVIL }, { label: EVIL }], [[EVIL, EVIL]]),
  ]
  for (const part of parts) {
    const { text } = html`${part}`
    t.notMatch(text, /<script/)
    t.match(text, '&quot;&#39;&gt;&lt;script&gt;')
    t.notMatch(text, /\sstyle=|\son\w+=/)
  }
})

t.test('Console: a field is linked to its label, hint and error for screen readers', async (t) => {
  t.equal(
    field({ label: 'Name', name: 'name' }).text,
    '<div class="field"><label for="field-name">Name</label><input id="field-name" name="name" type="text" value="" dir="auto" autocomplete="off"></div>',
  )
  const wrong = field({
    label: 'Id',
    name: 'id',
    value: 'x y',
    hint: 'No spaces.',
    error: 'A space.',
    isCode: true,
    required: true,
  })
  t.match(wrong.text, /<p class="hint" id="field-id-hint">No spaces\.<\/p>/)
  t.match(wrong.text, /<p class="error" id="field-id-error">A space\.<\/p>/)
  t.match(wrong.text, / required class="code" .* aria-invalid="true" aria-describedby="field-id-hint field-id-error">/)
})

t.test('Console: the errors of a form are listed above it, with links to the fields', async (t) => {
  t.equal(formErrors([]), undefined)
  const { text } = html`${formErrors([{ field: 'name', message: 'It is empty.' }])}`
  t.match(text, '<a href="#field-name">It is empty.</a>')
  t.match(text, 'role="alert"')
})

t.test('Console: chosen options are marked', async (t) => {
  const choices = [
    { value: 'a', label: 'A', checked: true },
    { value: 'b', label: 'B' },
  ]
  t.match(
    select({ label: 'One', name: 'one', value: 'b' }, choices).text,
    '<option value="a">A</option><option value="b" selected>',
  )
  t.match(checkboxes({ label: 'Many', name: 'many' }, choices).text, /value="a" checked>.*value="b">/s)
})

t.test('Console: a time has a datetime attribute, and UTC as text', async (t) => {
  t.equal(time(1_800_000_000_000).text, '<time datetime="2027-01-15T08:00:00.000Z">2027-01-15 08:00 UTC</time>')
  t.equal(time(0).text, '<time datetime="1970-01-01T00:00:00.000Z">1970-01-01 00:00 UTC</time>')
  t.equal(time(null).text, '<span class="quiet-text">never</span>')
  t.equal(time(undefined, 'no end').text, '<span class="quiet-text">no end</span>')
})

t.test('Console: an age has its time, and the attribute that keeps the script from replacing it', async (t) => {
  t.equal(
    age(1_800_000_000_000, 1_800_000_119_000).text,
    '<time datetime="2027-01-15T08:00:00.000Z" data-age title="2027-01-15T08:00:00.000Z">2 min ago</time>',
  )
  t.match(age(1_800_000_000_000, 1_700_000_000_000).text, '>0 s ago<', 'also if clocks differ')
  t.equal(age(undefined, 0, 'not used yet').text, '<span class="quiet-text">not used yet</span>')
  t.equal(age(null, 0).text, '<span class="quiet-text">never</span>')
})

t.test('Console: a table labels its cells, also when rows are shown as cards', async (t) => {
  const { text } = table(
    'Secrets',
    [{ label: 'Id' }, { label: 'Uses', kind: 'number' }, { label: 'Do', kind: 'actions' }],
    [['1', '2', html`<a href="/">x</a>`]],
  )
  t.match(text, '<caption class="unseen">Secrets</caption>')
  t.match(text, '<th role="columnheader" scope="col" class="number">Uses</th>')
  t.match(
    text,
    '<th role="rowheader" scope="row">1</th><td role="cell" class="number" data-label="Uses"><div>2</div></td>',
  )
  t.match(text, '<span class="unseen">Do</span>')
})

t.test('Console: a list with a single page has no pagination', async (t) => {
  t.equal(pager({}), undefined)
  t.notMatch(html`${pager({ older: '/audit?before=3' })}`.text, 'Newest')
  t.notMatch(html`${pager({ newest: '/audit' })}`.text, 'Older')
})

t.test('Console: a confirmation says what will happen, and works without JavaScript', async (t) => {
  const quiet = confirm({
    label: 'Resume',
    action: '/resume',
    consequences: 'It gets tokens again.',
    isDangerous: false,
  })
  t.match(
    quiet.text,
    /^<details class="confirm"><summary class="button {2}">Resume…<\/summary>\n<form method="post" action="\/resume">/,
  )
  t.match(quiet.text, '<button class="button primary">Resume</button>')
  t.match(quiet.text, 'data-cancel hidden>')
  const danger = confirm({
    label: 'Remove',
    action: '/remove',
    consequences: '',
    confirm: 'Remove it',
    isSmall: true,
  })
  t.match(danger.text, '<summary class="button danger-quiet small">')
  t.match(danger.text, '<button class="button danger">Remove it</button>')
})

t.test('Console: facts and cards leave out missing values', async (t) => {
  t.equal(facts([undefined, false, ['A', 'b']]).text, '<dl class="facts"><div><dt>A</dt><dd>b</dd></div></dl>')
  t.notMatch(card('Tokens', 3).text, 'card-hint')
  t.notMatch(section('a', 'A', 'b').text, 'actions')
  t.notMatch(note('quiet', 'x').text, 'role')
  t.match(
    copyable('id', 'Client id', 'x').text,
    '<button type="button" class="button small" data-copy="id" aria-describedby="id-label" hidden>',
  )
})
