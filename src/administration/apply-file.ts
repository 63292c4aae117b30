import { isNode, LineCounter, parseDocument } from 'yaml'
import { z } from 'zod'
import { OperatorError } from '../domain/operator-error.ts'
import type { Problem, Wanted } from './apply-plan.ts'
import { jsonNamed, registrationSchema, settingsSchema, suiteSchema, suiteUpdateSchema } from './rules.ts'

const SECRET = 'A secret does not belong in this file: "seed" imports one, and a new application gets a new one'

const suite = z.strictObject(jsonNamed({ suiteId: suiteSchema.shape.suiteId, ...suiteUpdateSchema.shape }))

const application = z.strictObject({
  ...jsonNamed({ clientId: registrationSchema.shape.clientId.unwrap(), ...settingsSchema.partial().shape }),
  client_secret: z.never(SECRET).optional(),
})

const applyFile = z
  .strictObject({ suites: z.array(suite).optional(), applications: z.array(application).optional() })
  .refine(({ suites, applications }) => suites ?? applications, 'It needs a list of suites or applications')

/** Parses a YAML or JSON file. Throws OperatorError with every problem, its line and its column; the messages repeat no value. */
export async function parseApplyFile(file: string, content: string): Promise<Wanted> {
  const lines = new LineCounter()
  const document = parseDocument(content, { lineCounter: lines, prettyErrors: false, merge: true })

  /** Where a value begins; of what is missing, the nearest one around it. */
  function offsetOf(path: PropertyKey[]): number {
    const node = document.getIn(path, true)
    if (isNode(node) && node.range) return node.range[0]
    return path.length === 0 ? 0 : offsetOf(path.slice(0, -1))
  }

  const placed = (offset: number, words: string) => {
    const { line, col } = lines.linePos(offset)
    return `\n  ${file}:${line}:${col} ${words}`
  }
  const refused = (problems: string[]) =>
    new OperatorError(`Nothing was changed. Problems of the file:${problems.join('')}`)
  const refuse = (problems: Problem[]) =>
    refused(problems.map(([path, why]) => placed(offsetOf(path), `${z.core.toDotPath(path) || 'file'}: ${why}`)))

  // The rest of a message quotes the text, which may have a secret.
  const withoutText = (message: string) => message.replace(/(?<=[\w)])(: |; | sequence ).*/s, '')
  const faults = [...document.errors, ...document.warnings].map(({ pos, message }) =>
    placed(pos[0], withoutText(message)),
  )
  if (faults.length > 0) throw refused(faults)
  // Aliases share one value, so it costs nothing to repeat them.
  const parsed = await Promise.try(() => document.toJS({ maxAliasCount: -1 })).catch((cause) => {
    throw new OperatorError('Nothing was changed: an alias in the file contains itself.', { cause })
  })
  const result = applyFile.safeParse(parsed)
  if (result.success) return { ...result.data, refuse }
  throw refuse(
    result.error.issues.flatMap((issue): Problem[] =>
      issue.code === 'unrecognized_keys'
        ? issue.keys.map((key) => [[...issue.path, key], 'There is no such field'])
        : [[issue.path, issue.message]],
    ),
  )
}
