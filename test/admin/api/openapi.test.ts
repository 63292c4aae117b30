import t from 'tap'
import { answersOf, type DocumentedAnswer, operationsOf } from '../../../lab/reference/description.ts'
import { VERSION } from '../../../src/version.ts'
import { createAdminWorld } from '../../support/admin.ts'
import { CAUSES, type Cause, usualRequest } from '../../support/openapi/admin-causes.ts'
import { createDescribedAdmin } from '../../support/openapi/admin-world.ts'
import { differences } from '../../support/openapi/answers.ts'
import { unexplainedFields, wrongExamples } from '../../support/openapi/examples.ts'
import type { Answered } from '../../support/openapi/exchange.ts'
import { ADMIN_DESCRIPTION } from '../../support/openapi/undescribed.ts'

type DescribedAdmin = Awaited<ReturnType<typeof createDescribedAdmin>>

const operations = operationsOf(ADMIN_DESCRIPTION)
const answers = operations.flatMap(answersOf)

t.test('OpenAPI: every documented response of the administration API can be provoked and matches it', async (t) => {
  const worlds = new Map<string, Promise<DescribedAdmin>>()
  async function differencesOf(described: DocumentedAnswer): Promise<string[]> {
    const { operation, status, name } = described
    const cause = CAUSES[`${operation.operationId} ${name}`] ?? CAUSES[String(name)] ?? {}
    const key = worldOf(described, cause)
    const world = worlds.get(key) ?? createDescribedAdmin(t, { trouble: cause.trouble })
    worlds.set(key, world)
    const answer = await answerOf(await world, described, cause)
    // Fields that differ between responses or paths.
    const varying = name === 'method-not-allowed' ? ['detail'] : ['client_secret', 'last_used_at']
    const found = differences(answer, described, { varying })
    return found.map((one) => `${operation.operationId} ${status} ${name ?? ''}: ${one}`)
  }
  const isSlow = ({ status }: DocumentedAnswer) => status === 408
  const found = await Promise.all(answers.filter(isSlow).map(differencesOf))
  for (const described of answers.filter((one) => !isSlow(one))) found.push(await differencesOf(described))
  t.strictSame(found.flat(), [])
  t.ok(answers.length > 300)
  const names = answers.flatMap(({ operation, name }) => [String(name), `${operation.operationId} ${name}`])
  for (const name of Object.keys(CAUSES)) t.ok(names.includes(name), `${name} is a documented response`)
})

/** A cause that changes data gets its own world. */
function worldOf({ operation, status, name }: DocumentedAnswer, { trouble, before }: Cause): string {
  const leavesTraces = before || (operation.method !== 'GET' && status < 300)
  return leavesTraces ? `${operation.operationId} ${name}` : String(trouble)
}

/** Sends the request that provokes a response. */
async function answerOf({ ask, keys }: DescribedAdmin, described: DocumentedAnswer, cause: Cause): Promise<Answered> {
  const usual = usualRequest(described.operation, { adminKey: keys[cause.as ?? 'admin'] })
  if (cause.before) await ask(cause.before(usual))
  return ask(cause.change ? cause.change(usual, described) : usual)
}

t.test('OpenAPI: exactly the routes of the administration API are described', async (t) => {
  const { routes } = await createAdminWorld(t)
  const api = routes.filter(({ url }) => url.startsWith('/admin/v1/'))
  const found = api.map(({ method, url }) => `${method} ${url.replace(/:(\w+)/g, '{}')}`)
  const described = operations.map(({ method, path }) => `${method} ${path.replace(/\{\w+\}/g, '{}')}`)
  // HEAD is allowed wherever GET is.
  const reads = described.filter((one) => one.startsWith('GET ')).map((one) => one.replace('GET', 'HEAD'))
  t.strictSame(found.sort(), [...described, ...reads].sort())
})

t.test('OpenAPI: each operation requires an admin key, and each change documents the refusal of viewers', async (t) => {
  for (const { operationId, method, security, responses } of operations) {
    t.strictSame(security, [{ adminKey: [] }], operationId)
    t.ok(responses[401], operationId)
    t.equal(responses[403] !== undefined, method !== 'GET', operationId)
  }
})

t.test('OpenAPI: the description has the version of this program, right examples, and explains fields', async (t) => {
  t.equal(ADMIN_DESCRIPTION.info.version, VERSION)
  t.strictSame(wrongExamples(ADMIN_DESCRIPTION), [])
  t.strictSame(unexplainedFields(ADMIN_DESCRIPTION), [])
})
