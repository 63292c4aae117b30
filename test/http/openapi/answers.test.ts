import { join } from 'node:path'
import t from 'tap'
import { answersOf, type DocumentedAnswer, operationsOf, readDescription } from '../../../lab/reference/description.ts'
import { AUTHENTICATION_REASONS, CHECK_REASONS, REQUEST_REASONS } from '../../../src/domain/reasons.ts'
import { VERSION } from '../../../src/version.ts'
import { differences } from '../../support/openapi/answers.ts'
import { CAUSES, type Cause, usualRequest } from '../../support/openapi/causes.ts'
import { unexplainedFields, wrongExamples } from '../../support/openapi/examples.ts'
import type { Answered } from '../../support/openapi/exchange.ts'
import { describedRoutesOf, routesOf } from '../../support/openapi/routes.ts'
import { createDescribedWorld, type DescribedWorld } from '../../support/openapi/world.ts'
import { createWorld } from '../../support/world.ts'

const description = readDescription(join(import.meta.dirname, '../../../docs/openapi.yaml'))
const operations = operationsOf(description)
const answers = operations.flatMap(answersOf)

/** Fields that are another in every answer. */
const VARYING = ['access_token']

t.test('OpenAPI: every example of a request is answered as it is described', async (t) => {
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

t.test('OpenAPI: every answer that is described comes about, and is as it is described', async (t) => {
  const worlds = new Map<string, DescribedWorld>()
  const given = []
  for (const described of answers) {
    const cause = causeOf(described)
    const key = worldOf(described, cause)
    const world = worlds.get(key) ?? (await createDescribedWorld(t, { trouble: cause.trouble }))
    worlds.set(key, world)
    // At once, for some wait.
    given.push({ described, ...bringAbout(world, described, cause) })
  }
  for (const { described, method, answer } of given) {
    const { operation, status, name } = described
    const found = differences(await answer, described, { isHead: method === 'HEAD', varying: VARYING })
    t.strictSame(found, [], `${operation.operationId} ${status} ${name ?? ''}`)
  }
})

t.test('OpenAPI: every cause is of an answer that is described', async (t) => {
  const names = answers.flatMap(({ operation, name }) => [String(name), `${operation.operationId} ${name}`])
  t.strictSame(
    Object.keys(CAUSES).filter((name) => !names.includes(name)),
    [],
  )
})

t.test('OpenAPI: every route of the public port of this version is described, and no other', async (t) => {
  const { app } = await createWorld(t)
  t.strictSame(describedRoutesOf(description).sort(), routesOf(app).sort())
  t.equal(description.info.version, VERSION)
})

t.test('OpenAPI: every refusal that a caller can see is described, with its status, code and words', async (t) => {
  const refusals = {
    ...REQUEST_REASONS,
    'not authenticated': AUTHENTICATION_REASONS['unknown client'],
    'invalid token': CHECK_REASONS['unknown token'],
    'not approved': CHECK_REASONS['application not approved'],
    'no such suite': CHECK_REASONS['no such suite'],
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

t.test('OpenAPI: every example is valid by its schema, and every field is explained', async (t) => {
  t.strictSame(wrongExamples(description), [])
  t.strictSame(unexplainedFields(description), [])
})

function causeOf({ operation, name }: DocumentedAnswer): Cause {
  return CAUSES[`${operation.operationId} ${name}`] ?? CAUSES[String(name)] ?? {}
}

/** A cause that changes data gets its own world. */
function worldOf({ operation, status, name }: DocumentedAnswer, { trouble, after }: Cause): string {
  const leavesTraces = after || (operation.method === 'POST' && status < 300)
  return leavesTraces ? `${operation.operationId} ${status} ${name}` : String(trouble)
}

/** Sends the request that provokes a response. */
function bringAbout({ ask }: DescribedWorld, described: DocumentedAnswer, { change, after = 0 }: Cause) {
  const usual = usualRequest(described.operation)
  const sent = change ? change(usual, described) : usual
  async function last(): Promise<Answered> {
    for (let n = 0; n < after; n++) await ask(sent)
    return ask(sent)
  }
  return { method: sent.method, answer: last() }
}
