import t from 'tap'
import { operationsOf } from '../../../../reference/description.ts'
import { VERSION } from '../../../../src/version.ts'
import { createAdminWorld } from '../../../support/admin.ts'
import { unexplainedFields, wrongExamples } from '../../../support/openapi/examples.ts'
import { ADMIN_DESCRIPTION } from '../../../support/openapi/undescribed.ts'

const operations = operationsOf(ADMIN_DESCRIPTION)

t.test('OpenAPI: exactly the routes of the administration API are described', async (t) => {
  const { routes } = await createAdminWorld(t)
  const api = routes.filter(({ url }) => url.startsWith('/admin/v1/'))
  const named = (wanted: boolean) =>
    api
      .filter(({ method }) => (method === 'HEAD') === wanted)
      .map(({ method, url }) => `${method} ${url.replace(/:(\w+)/g, '{}')}`)
      .sort()
  const described = operations.map(({ method, path }) => `${method} ${path.replace(/\{\w+\}/g, '{}')}`)
  t.strictSame(described.toSorted(), named(false))
  const reads = described.filter((one) => one.startsWith('GET ')).map((one) => one.replace('GET', 'HEAD'))
  t.strictSame(reads.toSorted(), named(true), 'HEAD is allowed wherever GET is')
})

t.test('OpenAPI: the description of the administration API has the version of this program', async (t) => {
  t.equal(ADMIN_DESCRIPTION.info.version, VERSION)
})

t.test('OpenAPI: each operation requires an admin key, and each change documents the refusal of viewers', async (t) => {
  for (const { operationId, method, security, responses } of operations) {
    t.strictSame(security, [{ adminKey: [] }], operationId)
    t.ok(responses[401], operationId)
    t.equal(responses[403] !== undefined, method !== 'GET', operationId)
  }
})

t.test('OpenAPI: every example of the administration API matches its schema', async (t) => {
  t.strictSame(wrongExamples(ADMIN_DESCRIPTION), [])
})

t.test('OpenAPI: every field of the administration API has a description', async (t) => {
  t.strictSame(unexplainedFields(ADMIN_DESCRIPTION), [])
})
