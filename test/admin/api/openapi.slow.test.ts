import t from 'tap'
import { answersOf, operationsOf } from '../../../lab/reference/description.ts'
import { CAUSES, usualRequest } from '../../support/openapi/admin-causes.ts'
import { createDescribedAdmin } from '../../support/openapi/admin-world.ts'
import { provoke } from '../../support/openapi/provoke.ts'
import { ADMIN_DESCRIPTION } from '../../support/openapi/undescribed.ts'

const answers = operationsOf(ADMIN_DESCRIPTION).flatMap(answersOf)

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
