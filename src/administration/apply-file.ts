import { type Document, isAlias, isCollection, isNode, isPair, isScalar, LineCounter, parseDocument, visit } from 'yaml'
import { z } from 'zod'
import { OperatorError } from '../domain/operator-error.ts'
import type { Problem, Wanted } from './apply-plan.ts'
import { jsonNamed, registrationSchema, settingsSchema, suiteSchema, suiteUpdateSchema } from './rules.ts'

const SECRET = 'A secret does not belong in this file: "seed" imports one, and a new application gets a new one'

/** How many maps the merge keys (<<) of a file may copy. Each copies its sources anew, so nested ones can mean millions. */
const MAX_MERGED = 100_000

type Fault = [offset: number, words: string]

const suite = z.strictObject(jsonNamed({ suiteId: suiteSchema.shape.suiteId, ...suiteUpdateSchema.shape }))

const application = z.strictObject({
  ...jsonNamed({ clientId: registrationSchema.shape.clientId.unwrap(), ...settingsSchema.partial().shape }),
  client_secret: z.never(SECRET).optional(),
})

const applyFile = z
  .strictObject({ suites: z.array(suite).optional(), applications: z.array(application).optional() })
  .refine(({ suites, applications }) => suites ?? applications, 'It needs a list of suites or applications')

/** Parses a YAML or JSON file. Throws OperatorError with every problem, its line and its column; the messages repeat no value. */
export function parseApplyFile(file: string, content: string): Wanted {
  const lines = new LineCounter()
  const document = parseDocument(content, { lineCounter: lines, prettyErrors: false, merge: true, logLevel: 'error' })

  /** Where a value begins; of what is missing, the nearest one around it. */
  function offsetOf(path: PropertyKey[]): number {
    const node = document.getIn(path, true)
    if (isNode(node) && node.range) return node.range[0]
    return path.length === 0 ? 0 : offsetOf(path.slice(0, -1))
  }

  function refused(problems: Fault[]): OperatorError {
    problems.sort(([one], [other]) => one - other)
    const placed = problems.map(([offset, words]) => {
      const { line, col } = lines.linePos(offset)
      return `\n  ${file}:${line}:${col} ${words}`
    })
    return new OperatorError(`Nothing was changed. Problems of the file:${placed.join('')}`)
  }
  const refuse = (problems: Problem[]) =>
    refused(problems.map(([path, why]) => [offsetOf(path), `${z.core.toDotPath(path) || 'file'}: ${why}`]))

  function value(): unknown {
    try {
      // Aliases share one value, so it costs nothing to repeat them.
      return document.toJS({ maxAliasCount: -1 })
    } catch (error) {
      // A merge key (<<) without a map. The error has no place.
      throw refused([[0, withoutText((error as Error).message)]])
    }
  }

  // The rest of a message quotes the text, which may have a secret.
  const withoutText = (message: string) => message.replace(/(?<=\w)(: |; | sequence ).*/s, '')
  const faults = [...document.errors, ...document.warnings].map(
    ({ pos, message }): Fault => [pos[0], withoutText(message)],
  )
  const anchors = new Set<string>()
  visit(document, {
    Node(_, node, path) {
      if (!isAlias(node)) return void anchors.add(node.anchor ?? '')
      const isAround = path.some((one) => isCollection(one) && one.anchor === node.source)
      if (isAround || !anchors.has(node.source))
        faults.push([Number(node.range?.[0]), 'This alias has no anchor before it'])
    },
  })
  if (faults.length > 0) throw refused(faults)
  if (countMerged(document) > MAX_MERGED) throw refused([[0, 'Its merge keys (<<) copy too much']])
  const result = applyFile.safeParse(value())
  if (result.success) return { ...result.data, refuse }
  throw refuse(
    result.error.issues.flatMap((issue): Problem[] =>
      issue.code === 'unrecognized_keys'
        ? issue.keys.map((key) => [[...issue.path, key], 'There is no such field'])
        : [[issue.path, issue.message]],
    ),
  )
}

/** How many maps the merge keys of a document copy when it is read. It must have no circular alias. */
function countMerged(document: Document): number {
  const counts = new Map<unknown, number>()

  function count(node: unknown): number {
    let found = counts.get(node)
    if (found === undefined) {
      found = isCollection(node) ? node.items.reduce<number>((sum, item) => sum + countIn(item), 0) : 0
      counts.set(node, found)
    }
    return found
  }

  function countIn(item: unknown): number {
    if (!isPair(item)) return count(item)
    if (!isScalar(item.key) || item.key.source !== '<<') return count(item.value)
    const sources = isCollection(item.value) ? item.value.items : [item.value]
    return sources.reduce<number>((sum, one) => sum + 1 + count(isAlias(one) ? one.resolve(document) : one), 0)
  }

  return count(document.contents)
}
