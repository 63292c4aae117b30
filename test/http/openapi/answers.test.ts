import { join } from 'node:path'
import t from 'tap'
import { answersOf, type DocumentedAnswer, operationsOf, readDescription } from '../../../reference/description.ts'
import { differences } from '../../support/openapi/answers.ts'
import { CAUSES, type Cause, usualRequest } from '../../support/openapi/causes.ts'
import type { Answered } from '../../support/openapi/exchange.ts'
import { createDescribedWorld, type DescribedWorld } from '../../support/openapi/world.ts'

const operations = operationsOf(readDescription(join(import.meta.dirname, '../../../docs/openapi.yaml')))
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
