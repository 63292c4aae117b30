import t from 'tap'
import { difference } from '../../../src/admin/console/difference.ts'

/** As text: removed parts in [- -], added ones in [+ +]. */
function read(...[before, after]: Parameters<typeof difference>): string[] {
  return [...difference(before, after).text.matchAll(/<li>(.*?)<\/li>/g)].map(([, line = '']) =>
    line
      .replaceAll('<del>', '[-')
      .replaceAll('</del>', '-]')
      .replaceAll('<ins>', '[+')
      .replaceAll('</ins>', '+]')
      .replace(/<[^>]+>/g, '')
      .trim(),
  )
}

t.test('Difference: a changed value is shown before and after', async (t) => {
  t.strictSame(read({ name: 'A', status: 'active' }, { name: 'B', status: 'active' }), ['name: [-A-] → [+B+]'])
  t.strictSame(read({ ends_at: null }, { ends_at: '2027-01-15T08:00:00.000Z' }), ['ends at: [+2027-01-15 08:00 UTC+]'])
  t.strictSame(read({ a: 1, b: true }, { a: 2, b: { c: 1 } }), ['a: [-1-] → [+2+]', 'b: [-true-] → [+c 1+]'])
})

t.test('Difference: added and removed values have one side only', async (t) => {
  t.strictSame(read(null, { name: 'A', suites: ['x'] }), ['name: [+A+]', 'suite: [+x+]'])
  t.strictSame(read({ name: 'A', suites: ['x', 'y'] }, null), ['name: [-A-]', 'suites: [-x-] [-y-]'])
  t.match(difference(null, null).text, '–')
  t.match(difference({}, {}).text, '–')
})

t.test('Difference: added and removed subjects leave out missing values and those already in the row', async (t) => {
  const fields = {
    client_id: 'a',
    id: 'a',
    created_at: '2027-01-15T08:00:00.000Z',
    tokens_valid_from: null,
    name: 'A',
  }
  t.strictSame(read(null, fields), ['name: [+A+]'])
  t.strictSame(read(fields, null), ['name: [-A-]'])
  const link = { created_at: '2027-01-15T08:00:00.000Z', ends_at: '2027-01-15T08:10:00.000Z' }
  t.strictSame(
    read({ login_links: [] }, { login_links: [link] }),
    ['login link: [+ends at 2027-01-15 08:10 UTC+]'],
    'and what has no name of its own is said field by field',
  )
})

t.test('Difference: of lists, only the differing entries are shown', async (t) => {
  t.strictSame(read({ suites: ['a', 'b'] }, { suites: ['b', 'c'] }), ['suites: [-a-] → [+c+]'])
  t.strictSame(read({ suites: ['a'] }, { suites: ['a', 'b'] }), ['suite: [+b+]'])
  t.strictSame(read({ suites: [] }, { suites: [] }), [])
})

t.test('Difference: very long lists are compared fast', async (t) => {
  // Quadratic time would take minutes.
  const many = Array.from({ length: 50_000 }, (_, n) => `suite-${n}`)
  t.strictSame(read({ suites: many }, { suites: [...many, 'new'] }), ['suite: [+new+]'])
})

t.test('Difference: secrets and keys are compared by id, field by field', async (t) => {
  const secret = { id: 1, origin: 'generated', ends_at: null }
  t.strictSame(
    read({ secrets: [secret] }, { secrets: [{ ...secret, ends_at: '2027-01-15T08:00:00.000Z' }, { id: 2 }] }),
    ['secret: [+2+]', 'secret 1 ends at: [+2027-01-15 08:00 UTC+]'],
  )
  t.strictSame(read({ secrets: [secret] }, { secrets: [] }), ['secret: [-1-]'])
  t.strictSame(read({ secrets: [secret] }, { secrets: [secret] }), [])
})

t.test('Difference: no value is rendered as markup', async (t) => {
  const evil = '<img src=x onerror=alert(1)>'
  const values = { [evil]: evil, list: [evil, { id: evil }, { evil }], object: { evil } }
  t.notMatch(difference(null, values).text, '<img')
  t.notMatch(difference(values, null).text, '<img')
  t.notMatch(difference({ s: [{ id: evil, [evil]: 1 }] }, { s: [{ id: evil, [evil]: evil }] }).text, '<img')
})

t.test('Difference: a value of several parts is shown part by part', async (t) => {
  const link = { created_at: '2027-01-15T08:00:00.000Z', ends_at: null, uses: 1 }
  t.strictSame(read({ login_links: [link] }, { login_links: [] }), ['login link: [-ends at none, uses 1-]'])
  t.strictSame(read(null, { matrix: [[1, 2]] }), ['matrix: [+[1,2]+]'])
})

t.test('Difference: added and removed subjects are one line, with the fields behind it', async (t) => {
  const fields = { name: '<b>', role: 'admin', status: 'active', suites: ['x', 'y'], secrets: [{ id: 1 }], keys: [] }
  const summary = '<summary>admin · 2 suites · 1 secret</summary>'
  t.match(difference(null, fields).text, summary)
  t.match(difference(fields, null).text, summary)
  t.match(difference(null, fields).text, '<li>suites: ')
  t.notMatch(difference({ name: 'A' }, { name: 'B' }).text, '<details')
  t.notMatch(
    difference(null, { name: 1, role: 1, a: 'b' }).text,
    '<details',
    'where nothing sums it up there is no line',
  )
})
