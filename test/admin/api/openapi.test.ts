import t from 'tap'
import { answersOf, operationsOf } from '../../../lab/reference/description.ts'
import { PROBLEM_CODES } from '../../../src/admin/wire/problem.ts'
import { cursorOf, isCursor } from '../../../src/administration/pages.ts'
import { read } from '../../repository/files.ts'
import { createAdminWorld } from '../../support/admin.ts'
import { unexplainedFields, wrongExamples } from '../../support/openapi/examples.ts'
import { ADMIN_DESCRIPTION } from '../../support/openapi/undescribed.ts'

const operations = operationsOf(ADMIN_DESCRIPTION)
const answers = operations.flatMap(answersOf)

t.test('OpenAPI: each operation requires an admin key, and each change documents the refusal of viewers', async (t) => {
  for (const { operationId, method, security, responses } of operations) {
    t.strictSame(security, [{ adminKey: [] }], operationId)
    t.ok(responses[401], operationId)
    t.equal(responses[403] !== undefined, method !== 'GET', operationId)
  }
})

t.test('API: each code of a problem can be provoked, and has the status that the table says', async (t) => {
  const { ask } = await createAdminWorld(t)
  const described = answers.flatMap(({ response }) =>
    Object.values(response.content?.['application/problem+json']?.examples ?? {}).map(({ value }) => value),
  )
  // More than may wait at once.
  const crowd = Array.from({ length: 40 }, () => ask('/admin/v1/suites', { as: 'admin' }))
  const others = await Promise.all([...crowd, ask('/admin/v1/nothing', { as: 'admin' })])
  const problems = [...described, ...others.filter(({ statusCode }) => statusCode >= 400).map((one) => one.json())]
  t.strictSame(new Map(problems.map(({ code, status }) => [code, status])), new Map(Object.entries(PROBLEM_CODES)))
})

/** The rows of the table in docs/admin-api.md whose first column is this, each without the last column. */
function rowsOf(column: string): string[][] {
  const [, table = ''] = read('docs/admin-api.md').split(`\n| ${column} | `)
  const [, , ...rows] = table.split('\n\n', 1).join().split('\n')
  return rows.map((row) => row.split(' | ').map((cell) => cell.replace(/^\| /, '')))
}

t.test('Docs: docs/admin-api.md lists every code of a problem with its status, and no other', async (t) => {
  const documented = rowsOf('code').map(([code, status]) => [code?.replaceAll('`', ''), Number(status)])
  t.strictSame(documented, Object.entries(PROBLEM_CODES))
})

t.test('Docs: docs/admin-api.md lists every call of the API, and no other', async (t) => {
  const documented = rowsOf('below `/admin/v1`').flatMap(([calls = '', meaning = '']) => {
    const owners = ['/applications/{client_id}', ...(meaning.includes('Also for suites') ? ['/suites/{suite_id}'] : [])]
    // Methods, and then the path that has them; `…` is an owner.
    return [...calls.matchAll(/((?:`[A-Z]+`, )*)`([A-Z]+) (\S+)`/g)].flatMap(([, before = '', last, path = '']) => {
      const methods = [...(before.match(/[A-Z]+/g) ?? []), last]
      const paths = path.startsWith('…') ? owners.map((owner) => path.replace('…', owner)) : [path]
      return paths.flatMap((path) => methods.map((method) => `${method} /admin/v1${path}`))
    })
  })
  const real = operations.map(({ method, path }) => `${method} ${path}`)
  t.strictSame(documented.sort(), real.sort())
})

t.test('OpenAPI: the description of a cursor is matched by those that the server accepts only', async (t) => {
  const cursors = operations.flatMap(({ parameters }) => parameters.filter(({ name }) => /^(after|before)$/.test(name)))
  t.ok(cursors.length > 3)
  const patterns = new Set(cursors.map(({ schema }) => (schema as { pattern: string }).pattern))
  t.equal(patterns.size, 1)
  const pattern = new RegExp([...patterns].join())

  const letters = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_']
  const longer = (texts: string[]) => texts.flatMap((text) => letters.map((letter) => text + letter))
  const short = [letters, longer(letters), longer(longer(['A', 'M', 'N', 'O', '_']))].flat()
  const wrong = ['', ...short].filter((text) => pattern.test(text) !== isCursor(text))
  t.strictSame(wrong, [])
  const lengths = Array.from({ length: 15 }, (_, digits) => digits + 1)
  const long = lengths.flatMap((length) => ['1', '5', '8', '9'].map((digit) => digit.repeat(length)))
  const keys = [...long, ...long.map((key) => key.replace(/.$/, '0'))].filter((key) => key !== '0')
  const refused = keys.filter((key) => !pattern.test(cursorOf(key)) || !isCursor(cursorOf(key)))
  t.strictSame(refused, [])
  for (const key of ['9007199254740991', '1000000000000000']) t.notOk(isCursor(cursorOf(key)), key)
  for (const text of ['0', '01', '-1', '1.5', 'abc', '1'.repeat(17)]) t.notMatch(cursorOf(text), pattern, text)
})

t.test('OpenAPI: the description has right examples, and explains fields', async (t) => {
  t.strictSame(wrongExamples(ADMIN_DESCRIPTION), [])
  t.strictSame(unexplainedFields(ADMIN_DESCRIPTION), [])
})
