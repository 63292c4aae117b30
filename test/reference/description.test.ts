import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { answersOf, operationsOf, readDescription } from '../../reference/description.ts'
import { referencePage } from '../../reference/page.ts'
import { curlOf, markedJson } from '../../reference/samples.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

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

t.test('Description: an answer without a named example is one case', async (t) => {
  const [operation] = operationsOf(read(t, SMALL)) as [ReturnType<typeof operationsOf>[number]]
  t.strictSame(operation.parameters, [])
  t.strictSame(
    answersOf(operation).map(({ status, name }) => [status, name]),
    [
      [200, undefined],
      [204, undefined],
    ],
  )
})

t.test('Description: a $ref that leads nowhere is an error', async (t) => {
  const broken = SMALL.replace('{ type: object }', "{ $ref: '#/components/schemas/Thing/properties/name' }")
  t.throws(() => read(t, broken), /#\/components\/schemas\/Thing\/properties\/name leads nowhere/)
})

t.test('Reference: an operation that needs little has a page and a command', async (t) => {
  const description = read(t, SMALL)
  const [operation] = operationsOf(description) as [ReturnType<typeof operationsOf>[number]]
  t.ok(referencePage(description, 'openapi.yaml').includes('Some things.'))
  t.equal(curlOf(description, operation), 'curl /things')
  t.equal(curlOf(description, { ...operation, method: 'DELETE' }), 'curl -X DELETE /things')
  const served = { ...description, servers: [{ url: 'https://things.example' }] }
  t.equal(curlOf(served, operation), 'curl https://things.example/things')
  t.match(markedJson('a text').text, /text-value/)
})
