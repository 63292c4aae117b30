import t from 'tap'
import { answersOf, type DocumentedAnswer, operationsOf } from '../../../../reference/description.ts'
import { CAUSES, type Cause, usualRequest } from '../../../support/openapi/admin-causes.ts'
import { createDescribedAdmin } from '../../../support/openapi/admin-world.ts'
import { differences } from '../../../support/openapi/answers.ts'
import type { Answered } from '../../../support/openapi/exchange.ts'
import { ADMIN_DESCRIPTION } from '../../../support/openapi/undescribed.ts'

type DescribedAdmin = Awaited<ReturnType<typeof createDescribedAdmin>>

const operations = operationsOf(ADMIN_DESCRIPTION)
const answers = operations.flatMap(answersOf)

/** The connection limit of the listener; some of these requests take ten seconds. */
const AT_ONCE = 32

t.test(
  'OpenAPI: every documented response of the administration API can be provoked and matches its description',
  async (t) => {
    const worlds = new Map<string, DescribedAdmin>()
    async function bringAbout(described: DocumentedAnswer): Promise<string[]> {
      const { operation, name } = described
      const cause = causeOf(described)
      const key = worldOf(described, cause)
      const world = worlds.get(key) ?? (await createDescribedAdmin(t, { trouble: cause.trouble }))
      worlds.set(key, world)
      const answer = await answerOf(world, described, cause)
      const found = differences(answer, described, { varying: varyingIn(name) })
      return found.map((one) => `${operation.operationId} ${described.status} ${name ?? ''}: ${one}`)
    }
    const isSlow = ({ status }: DocumentedAnswer) => status === 408
    for (const described of answers.filter((one) => !isSlow(one))) t.strictSame(await bringAbout(described), [])
    for (let at = 0; at < answers.length; at += AT_ONCE) {
      const slow = answers.filter(isSlow).slice(at, at + AT_ONCE)
      t.strictSame((await Promise.all(slow.map(bringAbout))).flat(), [])
    }
  },
)

t.test('OpenAPI: every cause belongs to a documented response of the administration API', async (t) => {
  const names = answers.flatMap(({ operation, name }) => [String(name), `${operation.operationId} ${name}`])
  for (const name of Object.keys(CAUSES)) t.ok(names.includes(name), name)
})

function causeOf({ operation, name }: DocumentedAnswer): Cause {
  return CAUSES[`${operation.operationId} ${name}`] ?? CAUSES[String(name)] ?? {}
}

/** Fields that differ between responses or paths. */
function varyingIn(name: string | undefined): string[] {
  return name === 'method-not-allowed' ? ['detail'] : ['client_secret', 'last_used_at']
}

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
