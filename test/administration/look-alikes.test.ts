import t from 'tap'
import { looksLike, nearTo } from '../../src/administration/why.ts'
import { abbreviated } from '../../src/domain/application.ts'
import { ago } from '../../src/domain/time.ts'

const ID = 'fGRB0YkSebqKmtSvwMb7Sfa1sR97KK3Z'

t.test('Look-alikes: a client id that is quoted, cut off, longer or in another case looks like it', async (t) => {
  const looks = (sent: string, id = ID) => looksLike({ clientId: abbreviated(sent) }, id)
  const alike = [ID, `"${ID}"`, `${ID}\n`, ID.slice(0, -2), ID.slice(0, 20), ID.slice(0, 4), ID.toLowerCase(), ` ${ID}`]
  for (const sent of [...alike, `${ID}1234`]) t.ok(looks(sent), sent)
  const others = [ID.replace('B', 'X'), 'fGRX0YkSebqKmtSvwMb7', ID.slice(0, 3), '', '"', `${ID}12345`, ID.repeat(2)]
  for (const sent of others) t.notOk(looks(sent), sent)
  for (const sent of ['app-2', 'app-21', '"app-1"', 'APP-1']) t.ok(looks(sent, 'app-1'), sent)
  for (const sent of ['app-', 'app-221', 'app-', 'app-of-another'])
    t.notOk(looks(sent, 'app-of-one'), `${sent} only begins alike`)
  t.ok(looks('abc', 'abcd'))
  for (const short of ['a', '"a']) t.ok(looks(short, short), `${short} itself`)
  t.notOk(looks('a', 'b'))
  t.notOk(looksLike({ clientId: 'fGRB' }, ID), 'what is not abbreviated')
})

t.test('Look-alikes: a client id is near another one with two slips at most, and so is its beginning', async (t) => {
  const slips = [ID.replace('eb', 'be').replace('tS', 'St'), ID.slice(2), `${ID}xx`, ID.replace('7K', '1k')]
  for (const other of [ID, ID.toLowerCase(), `"${ID}"`, ID.slice(0, 20), ID.slice(0, 4), ...slips]) {
    t.ok(nearTo(other)(ID), other)
  }
  const reversed = ID.split('').reverse().join('')
  for (const other of ['', 'fGR', 'fGRX0YkSebqKmtSvwMb7', ID.slice(3), `xyz${ID.slice(3)}`, reversed]) {
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
  t.ok(looksLike({ clientId: abbreviated(quotes) }, quotes))
  const quoted = `<${ID}>`.padStart(204, "'")
  t.ok(nearTo(quoted)(ID))
  t.notOk(nearTo(`'${quoted}`)(ID), 'longer than any client id')
  t.notOk(nearTo("'".repeat(9))(ID), 'quotes around nothing')
})

t.test('Age: an age is rounded to one unit', async (t) => {
  const seconds = [0, -5, 89, 90, 89 * 60, 90 * 60, 35 * 3600, 36 * 3600]
  const ages = ['0 s', '0 s', '89 s', '2 min', '89 min', '2 h', '35 h', '2 days'].map((age) => `${age} ago`)
  for (const [n, age] of seconds.entries()) t.equal(ago(1e12 - age * 1000, 1e12), ages[n])
})
