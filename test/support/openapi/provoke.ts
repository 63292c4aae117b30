import type { DocumentedAnswer, Operation } from '../../../lab/reference/description.ts'
import { differences } from './answers.ts'
import type { Cause, Trouble } from './changes.ts'
import type { Answered, Sent } from './exchange.ts'

/** Some answers take a second or two, and the others do not wait for them; a listener limits its connections. */
const AT_ONCE = 16

interface World {
  ask: (sent: Sent) => Promise<Answered>
}

interface Provoked<Described extends World> {
  /** By example name, or by operation and example name. Other answers result from the usual request. */
  causes: Record<string, Cause>
  createWorld: (options: { trouble: Trouble | undefined }) => Promise<Described>
  /** The request for the first answer of an operation. */
  usualRequest: (operation: Operation, world: Described, cause: Cause) => Sent
  /** The fields that differ in each answer. */
  varying: (answer: DocumentedAnswer) => string[]
}

/** Provokes every documented answer. Returns where one is not as documented, and the causes of no documented answer. */
export async function provoke<Described extends World>(
  answers: DocumentedAnswer[],
  { causes, createWorld, usualRequest, varying }: Provoked<Described>,
): Promise<string[]> {
  const worlds = new Map<string, Promise<Described>>()
  const used = new Set<string>()
  const found: string[] = []
  const queue = answers.values()
  const loop = async () => {
    for (const described of queue) found.push(...(await differencesOf(described)))
  }
  await Promise.all(Array.from({ length: AT_ONCE }, loop))
  return [...found, ...Object.keys(causes).filter((name) => !used.has(name))]

  async function differencesOf(described: DocumentedAnswer): Promise<string[]> {
    const { operation, status, name } = described
    const cause = causeOf(described)
    const key = worldOf(described, cause)
    const created = worlds.get(key) ?? createWorld({ trouble: cause.trouble })
    worlds.set(key, created)
    const world = await created
    const usual = usualRequest(operation, world, cause)
    const { before, times = 1, change } = cause
    for (let n = 0; before && n < times; n++) await world.ask(before(usual, described))
    const sent = change ? change(usual, described) : usual
    const answer = await world.ask(sent)
    const options = { isHead: sent.method === 'HEAD', varying: varying(described) }
    const place = `${operation.operationId} ${status} ${name ?? ''}`
    return differences(answer, described, options).map((one) => `${place}: ${one}`)
  }

  function causeOf({ operation, name }: DocumentedAnswer): Cause {
    const names = [`${operation.operationId} ${name}`, String(name)]
    for (const one of names) used.add(one)
    return names.map((one) => causes[one]).find((cause) => cause !== undefined) ?? {}
  }
}

/** A request that changes data gets its own world. */
function worldOf({ operation, status, name }: DocumentedAnswer, { trouble, before }: Cause): string {
  const isChange = operation.method !== 'GET' && status < 300
  return before || isChange ? `${operation.operationId} ${status} ${name}` : String(trouble)
}
