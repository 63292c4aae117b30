import { join } from 'node:path'
import t from 'tap'
import { answersOf, operationsOf, readDescription } from '../../../reference/description.ts'
import {
  INVALID_TOKEN,
  NO_SUCH_SUITE,
  NOT_APPROVED,
  NOT_AUTHENTICATED,
  REFUSALS,
} from '../../../src/http/wire/refusals.ts'
import { VERSION } from '../../../src/version.ts'
import { unexplainedFields, wrongExamples } from '../../support/openapi/examples.ts'
import { describedRoutesOf, routesOf } from '../../support/openapi/routes.ts'
import { createWorld } from '../../support/world.ts'

const description = readDescription(join(import.meta.dirname, '../../../docs/openapi.yaml'))
const operations = operationsOf(description)
const answers = operations.flatMap(answersOf)

t.test('OpenAPI: every route of the public port is described, and no other', async (t) => {
  const { app } = await createWorld(t)
  t.strictSame(describedRoutesOf(description).sort(), routesOf(app).sort())
})

t.test('OpenAPI: it is the description of this version', async (t) => {
  t.equal(description.info.version, VERSION)
})

t.test('OpenAPI: every refusal that a caller can see is described, with its status, code and words', async (t) => {
  const refusals = {
    ...REFUSALS,
    'not authenticated': NOT_AUTHENTICATED,
    'invalid token': INVALID_TOKEN,
    'not approved': NOT_APPROVED,
    'no such suite': NO_SUCH_SUITE,
  }
  const described = answers.filter(({ status, name }) => status >= 400 && name !== undefined && name !== 'no-token')
  const names = new Set(described.map(({ name }) => name as string))
  t.strictSame(
    [...names].sort(),
    Object.keys(refusals)
      .map((reason) => reason.replaceAll(' ', '-'))
      .sort(),
  )
  for (const { operation, status, name, response } of described) {
    const refusal = refusals[name?.replaceAll('-', ' ') as keyof typeof refusals]
    if (!refusal) continue
    const value = response.content?.['application/json']?.examples[name as string]?.value as Record<string, string>
    const [before = '', after] = refusal.description.split('{field}')
    const words = value.error_description as string
    const isSame = after === undefined ? words === before : words.startsWith(before) && words.endsWith(after)
    t.strictSame(
      [status, value.error, isSame],
      [refusal.status, refusal.code, true],
      `${operation.operationId} ${name}`,
    )
  }
})

t.test('OpenAPI: every example, of a request, a body and a header, is valid by its schema', async (t) => {
  t.strictSame(wrongExamples(description), [])
})

t.test('OpenAPI: every field is explained', async (t) => {
  t.strictSame(unexplainedFields(description), [])
})
