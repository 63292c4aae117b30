import t from 'tap'
import { answersOf, operationsOf } from '../../../lab/reference/description.ts'
import { CAUSES, usualRequest } from '../../support/openapi/admin-causes.ts'
import { createDescribedAdmin } from '../../support/openapi/admin-world.ts'
import { unexplainedFields, wrongExamples } from '../../support/openapi/examples.ts'
import { provoke } from '../../support/openapi/provoke.ts'
import { ADMIN_DESCRIPTION } from '../../support/openapi/undescribed.ts'

const operations = operationsOf(ADMIN_DESCRIPTION)
const answers = operations.flatMap(answersOf)

t.test('OpenAPI: every documented response of the administration API can be provoked and matches it', async (t) => {
  const wrong = await provoke<Awaited<ReturnType<typeof createDescribedAdmin>>>(answers, {
    causes: CAUSES,
    createWorld: (options) => createDescribedAdmin(t, options),
    usualRequest,
    // Fields that differ between responses or paths.
    varying: ({ name }) => (name === 'method-not-allowed' ? ['detail'] : ['client_secret', 'last_used_at']),
  })
  t.strictSame(wrong, [])
  t.ok(answers.length > 300)
})

t.test('OpenAPI: each operation requires an admin key, and each change documents the refusal of viewers', async (t) => {
  for (const { operationId, method, security, responses } of operations) {
    t.strictSame(security, [{ adminKey: [] }], operationId)
    t.ok(responses[401], operationId)
    t.equal(responses[403] !== undefined, method !== 'GET', operationId)
  }
})

t.test('OpenAPI: an empty cursor, which is refused, does not match the description', async (t) => {
  const cursors = operations.flatMap(({ parameters }) => parameters.filter(({ name }) => /^(after|before)$/.test(name)))
  t.ok(cursors.length > 3)
  for (const { schema } of cursors) t.notMatch('', new RegExp((schema as { pattern: string }).pattern))
})

t.test('OpenAPI: the description has right examples, and explains fields', async (t) => {
  t.strictSame(wrongExamples(ADMIN_DESCRIPTION), [])
  t.strictSame(unexplainedFields(ADMIN_DESCRIPTION), [])
})
