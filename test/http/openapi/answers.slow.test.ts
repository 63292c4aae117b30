import { join } from 'node:path'
import t from 'tap'
import { answersOf, type DocumentedAnswer, operationsOf, readDescription } from '../../../lab/reference/description.ts'
import { AUTHENTICATION_REASONS, CHECK_REASONS, REQUEST_REASONS } from '../../../src/domain/reasons.ts'
import { differences } from '../../support/openapi/answers.ts'
import { CAUSES, usualRequest } from '../../support/openapi/causes.ts'
import { unexplainedFields, wrongExamples } from '../../support/openapi/examples.ts'
import { provoke } from '../../support/openapi/provoke.ts'
import { describedRoutesOf, routesOf } from '../../support/openapi/routes.ts'
import { createDescribedWorld } from '../../support/openapi/world.ts'
import { createWorld } from '../../support/world.ts'

const description = readDescription(join(import.meta.dirname, '../../../docs/openapi.yaml'))
const operations = operationsOf(description)
const answers = operations.flatMap(answersOf)

/** Fields that differ in every answer. */
const VARYING = ['access_token']

t.test('OpenAPI: every example of a request gets the described answer', async (t) => {
  for (const operation of operations) {
    const contents = Object.values(operation.requestBody?.content ?? {})
    for (const example of contents.flatMap(({ examples }) => Object.keys(examples))) {
      const { ask } = await createDescribedWorld(t)
      const answer = await ask(usualRequest(operation, example))
      const [described] = answersOf(operation)
      const found = differences(answer, described as DocumentedAnswer, { varying: VARYING })
      t.strictSame(found, [], `${operation.operationId}: ${example}`)
    }
  }
})

t.test('OpenAPI: every described answer can be provoked, and matches its description', async (t) => {
  const wrong = await provoke(answers, {
    causes: CAUSES,
    createWorld: (options) => createDescribedWorld(t, options),
    usualRequest: (operation) => usualRequest(operation),
    varying: () => VARYING,
  })
  t.strictSame(wrong, [])
})

t.test('OpenAPI: every route of the public port is described, and no other', async (t) => {
  const { app } = await createWorld(t)
  t.strictSame(describedRoutesOf(description).sort(), routesOf(app).sort())
})

t.test('OpenAPI: every refusal that clients can see is described, with its status, code and text', async (t) => {
  const refusals = {
    ...REQUEST_REASONS,
    'not authenticated': AUTHENTICATION_REASONS['unknown client'],
    'invalid token': CHECK_REASONS['unknown token'],
    'not approved': CHECK_REASONS['application not approved'],
    'no such suite': CHECK_REASONS['no such suite'],
  }
  const described = answers.filter(({ status, name }) => status >= 400 && name !== undefined && name !== 'no-token')
  const names = new Set(described.map(({ name }) => name as string))
  const reasons = Object.keys(refusals).map((reason) => reason.replaceAll(' ', '-'))
  t.strictSame([...names].sort(), reasons.sort())
  for (const { operation, status, name, response } of described) {
    const refusal = refusals[name?.replaceAll('-', ' ') as keyof typeof refusals]
    const value = response.content?.['application/json']?.examples[name as string]?.value as Record<string, string>
    t.strictSame([status, value.error], [refusal?.status, refusal?.code], `${operation.operationId} ${name}`)
  }
})

t.test('OpenAPI: every example is valid by its schema, and every field is explained', async (t) => {
  t.strictSame(wrongExamples(description), [])
  t.strictSame(unexplainedFields(description), [])
})
