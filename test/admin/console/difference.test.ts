import t from 'tap'
import { difference } from '../../../src/admin/console/difference.ts'

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

const MOMENT = '2027-01-15T08:00:00.000Z'
const SECRET = { id: 1, origin: 'generated', ends_at: null }
const LINK = { created_at: MOMENT, ends_at: '2027-01-15T08:10:00.000Z' }
/** What is in the row already, or missing. */
const LEFT_OUT = { client_id: 'a', id: 'a', created_at: MOMENT, tokens_valid_from: null }
const MANY = Array.from({ length: 50_000 }, (_, n) => `suite-${n}`)

const CASES: Record<string, [...values: Parameters<typeof difference>, lines: string[]][]> = {
  'a changed value is shown before and after': [
    [{ name: 'A', status: 'active' }, { name: 'B', status: 'active' }, ['name: [-A-] → [+B+]']],
    [{ ends_at: null }, { ends_at: MOMENT }, ['ends at: [+2027-01-15 08:00 UTC+]']],
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
      { secrets: [{ ...SECRET, ends_at: MOMENT }, { id: 2 }] },
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

for (const [rule, cases] of Object.entries(CASES)) {
  t.test(`Difference: ${rule}`, async (t) => {
    for (const [before, after, lines] of cases) t.strictSame(read(before, after), lines)
  })
}

t.test('Difference: where there is none, there is a dash', async (t) => {
  t.match(difference(null, null).text, '–')
  t.match(difference({}, {}).text, '–')
})

t.test('Difference: added and removed subjects are one line, with the fields behind it', async (t) => {
  const fields = { name: '<b>', role: 'admin', status: 'active', suites: ['x', 'y'], secrets: [{ id: 1 }], keys: [] }
  const summary = '<summary>admin · 2 suites · 1 secret</summary>'
  t.match(difference(null, fields).text, summary)
  t.match(difference(fields, null).text, summary)
  t.match(difference(null, fields).text, '<li>suites: ')
  t.notMatch(difference({ name: 'A' }, { name: 'B' }).text, '<details')
  t.notMatch(difference(null, { name: 1, role: 1, a: 'b' }).text, '<details', 'where nothing sums it up there is none')
})
