import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { picturesOf } from '../../lab/reference/console/pictures.ts'
import { answersOf, type Operation, operationsOf, readDescription } from '../../lab/reference/description.ts'
import { documents } from '../../lab/reference/documents.ts'
import { adminDocument } from '../../lab/reference/openapi/admin.ts'
import { OPERATIONS, type OperationText } from '../../lab/reference/openapi/admin-operations.ts'
import { withSchemas } from '../../lab/reference/openapi/document.ts'
import { referencePage } from '../../lab/reference/page.ts'
import { curlOf, markedJson } from '../../lab/reference/samples.ts'
import { layout } from '../../src/admin/console/layout.ts'
import { withoutIcons } from '../support/console-world.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const DOCS = join(import.meta.dirname, '../../docs')
const description = readDescription(join(DOCS, 'openapi.yaml'))
const page = referencePage(description, 'openapi.yaml')

t.test('Reference: the documents are those that `npm run docs` generates from the code', async (t) => {
  for (const [name, text] of Object.entries(await documents())) {
    t.ok(readFileSync(join(DOCS, name), 'utf8') === text, name)
    t.notMatch(text, /^\s*[\w-]+: [&*]/m, `${name} has no anchors and aliases`)
  }
})

t.test('Description: two schemas cannot have the same title', async (t) => {
  const schema = (type: string) => ({ title: 'Thing', type })
  const document = (...types: string[]) => ({ paths: { things: types.map(schema) }, components: {} })
  t.match(withSchemas(document('string', 'string')).components, { schemas: { Thing: { type: 'string' } } })
  t.throws(() => withSchemas(document('string', 'integer')), /Two schemas are called Thing/)
})

t.test('Description: each route of the administration API is described, and nothing else', async (t) => {
  const { 'GET /admin/v1/suites': suites, ...others } = OPERATIONS
  await t.rejects(adminDocument(others), /GET \/admin\/v1\/suites is not described/)
  await t.rejects(
    adminDocument({ ...OPERATIONS, 'GET /admin/v1/x': suites as OperationText }),
    /no route GET \/admin\/v1\/x/,
  )
})

t.test('Reference: it has every endpoint, field, header and refusal', async (t) => {
  const { components, paths } = description
  const fields = Object.values(components.schemas).flatMap(({ properties = {} }) => Object.keys(properties))
  const contents = operationsOf(description)
    .flatMap(({ responses }) => Object.values(responses))
    .flatMap(({ content = {} }) => Object.values(content))
  const refusals = contents
    .flatMap(({ examples }) => Object.values(examples))
    .map(({ value }) => (value as { error_description?: string }).error_description ?? '')
  t.ok(refusals.length > 20)
  const all = [...Object.keys(paths), ...fields, ...Object.keys(components.headers), ...refusals]
  const missing = all.filter((text) => !page.includes(text.replaceAll('"', '&quot;').replaceAll('`', '')))
  t.strictSame(missing, [])
})

t.test('Reference: what a description says is text, and never HTML', async (t) => {
  const { info } = description
  const text = '<b>"&" `<i>`'
  const shown = referencePage({ ...description, info: { ...info, summary: text, description: text } }, 'openapi.yaml')
  t.ok(shown.includes('<p class="summary">&lt;b&gt;&quot;&amp;&quot; `&lt;i&gt;`</p>'))
  t.ok(shown.includes('<p>&lt;b&gt;&quot;&amp;&quot; <code>&lt;i&gt;</code></p>'))
})

/** A description of one operation, of which only what must be there is there. */
const SMALL = `
openapi: 3.1.1
info: { title: small, summary: A server, version: 1.0.0, description: It does little. }
servers: []
tags: [{ name: Things, description: All of them. }]
components: { examples: {}, schemas: {}, parameters: {}, headers: {}, securitySchemes: {} }
paths:
  /things:
    get:
      operationId: things
      tags: [Things]
      summary: Things
      description: Lists them.
      security: []
      responses:
        '200':
          description: Some things.
          content: { application/json: { schema: { type: object }, examples: {} } }
        '204': { description: None. }
`

function read(t: Test, yaml: string) {
  const file = join(temporaryFolder(t), 'openapi.yaml')
  writeFileSync(file, yaml)
  return readDescription(file)
}

t.test('Description: a $ref that leads nowhere is an error', async (t) => {
  const broken = SMALL.replace('{ type: object }', "{ $ref: '#/components/schemas/Thing/properties/name' }")
  t.throws(() => read(t, broken), /#\/components\/schemas\/Thing\/properties\/name leads nowhere/)
})

t.test('Reference: an operation that needs little has a page and a command, and each answer is one case', async (t) => {
  const description = read(t, SMALL)
  const [operation] = operationsOf(description) as [Operation]
  t.strictSame(operation.parameters, [])
  const cases = answersOf(operation).map(({ status, name }) => `${status} ${name}`)
  t.strictSame(cases, ['200 undefined', '204 undefined'])
  t.ok(referencePage(description, 'openapi.yaml').includes('Some things.'))
  t.equal(curlOf(description, operation), 'curl /things')
  t.equal(curlOf(description, { ...operation, method: 'DELETE' }), 'curl -X DELETE /things')
  const served = { ...description, servers: [{ url: 'https://things.example' }] }
  t.equal(curlOf(served, operation), 'curl https://things.example/things')
  t.match(markedJson('a text').text, /text-value/)
})

const TEXT = readFileSync(join(DOCS, 'console.md'), 'utf8')

/** Bytes. Every change of a large image makes clones of the repository larger. */
const LARGEST = 250_000

t.test('Console: docs/console.md has a screenshot of every page in the navigation', async (t) => {
  const frame = layout({ title: '', content: '' }, { operator: { name: 'anna', role: 'admin', email: null } })
  const labels = [...withoutIcons(frame).matchAll(/<li><a href="[^"]*">([^<]+)</g)].map(([, label]) => label)
  t.ok(labels.includes('Overview'))
  for (const label of labels) {
    const [, section = ''] = TEXT.split(`\n## ${label}\n`)
    t.match(section.split('\n## ')[0], /!\[.+\]\(console\/.+\.png\)/, String(label))
  }
})

t.test('Console: its screenshots are those that the script takes, and they are small', async (t) => {
  const made = picturesOf({ clientId: '' }).map(({ name }) => `${name}.png`)
  const files = readdirSync(join(DOCS, 'console'))
  t.strictSame(files.sort(), [...made, 'overview-dark.png'].sort())
  for (const file of files) {
    t.ok(TEXT.includes(`(console/${file})`), `${file} is shown`)
    t.ok(statSync(join(DOCS, 'console', file)).size < LARGEST, file)
  }
})
