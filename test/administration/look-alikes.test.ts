import t from 'tap'
import { ago } from '../../src/administration/age.ts'
import { looksLike, nearTo } from '../../src/administration/why.ts'
import { abbreviated } from '../../src/domain/application.ts'

const ID = 'fGRB0YkSebqKmtSvwMb7Sfa1sR97KK3Z'

t.test(
  'Look-alikes: a client id that is quoted, cut off, longer or in another case looks like the right one',
  async (t) => {
    const looks = (sent: string, id = ID) => looksLike({ clientId: abbreviated(sent) }, id)
    for (const sent of [
      ID,
      `"${ID}"`,
      `${ID}\n`,
      ID.slice(0, -2),
      ID.slice(0, 20),
      ID.slice(0, 4),
      ID.toLowerCase(),
      ` ${ID}`,
    ])
      t.ok(looks(sent), sent)
    for (const sent of [
      'fGRX0YkSebqKmtSvwMb7Sfa1sR97KK3Z',
      'fGRX0YkSebqKmtSvwMb7',
      ID.slice(0, 3),
      '',
      '"',
      ID.repeat(2),
    ])
      t.notOk(looks(sent), sent)
    t.ok(looks('abc', 'abcd'))
    t.notOk(looksLike({ clientId: 'fGRB' }, ID), 'what is not abbreviated')
  },
)

t.test('Look-alikes: a client id is near another one with two slips at most, and so is its beginning', async (t) => {
  const swapped = 'fGRB0YkSbeqKmtSvwMb7Sfa1sR97KK3Z'
  for (const other of [
    ID,
    ID.toLowerCase(),
    `"${ID}"`,
    swapped,
    ID.slice(2),
    ID.slice(0, 20),
    ID.slice(0, 4),
    `${ID}xx`,
    ID.replace('7K', '1k'),
  ]) {
    t.ok(nearTo(other)(ID), other)
  }
  for (const other of [
    '',
    'fGR',
    'fGRX0YkSebqKmtSvwMb7',
    ID.slice(3),
    `xyz${ID.slice(3)}`,
    ID.split('').reverse().join(''),
  ]) {
    t.notOk(nearTo(other)(ID), other)
  }
  t.notOk(nearTo('abcdf')('abcde'), 'short ones are all alike')
  t.ok(nearTo('abcde')('ABCDE'))
})

t.test('Look-alikes: a long text of quotes takes no longer than any other', async (t) => {
  // Quadratic time would take hours.
  const quotes = `fGRB${"'".repeat(1_000_000)}x`
  t.notOk(nearTo(quotes)(ID))
  t.notOk(nearTo(ID)(quotes))
  t.ok(looksLike({ clientId: abbreviated(ID) }, quotes), 'as if it were cut off')
  t.ok(nearTo(`<${"'".repeat(150)}${ID}>`)(ID))
  t.notOk(nearTo(`${"'".repeat(201)}${ID}`)(ID), 'longer than any client id')
  t.notOk(nearTo("'".repeat(9))(ID), 'quotes around nothing')
})

t.test('Age: an age is rounded to one unit', async (t) => {
  for (const [age, text] of [
    [0, '0 s ago'],
    [-5000, '0 s ago'],
    [89_000, '89 s ago'],
    [90_000, '2 min ago'],
    [89 * 60_000, '89 min ago'],
    [90 * 60_000, '2 h ago'],
    [35 * 3_600_000, '35 h ago'],
    [36 * 3_600_000, '2 days ago'],
  ] as const)
    t.equal(ago(1e12 - age, 1e12), text)
})
