import { isNode, isSeq, LineCounter, parseDocument } from 'yaml'
import { z } from 'zod'
import { OperatorError } from '../domain/operator-error.ts'
import type { Problem, Wanted } from './apply-plan.ts'
import { jsonNamed, registrationSchema, settingsSchema, suiteSchema, suiteUpdateSchema } from './rules.ts'
import { LISTED_APPLICATION, SHOWN_APPLICATION, SHOWN_SUITE } from './views.ts'
import { type Fault, readDocument } from './yaml-document.ts'

const SECRET = 'A secret does not belong in this file: "seed" imports one, and a new application gets a new one'

/** More problems are not looked for: each takes memory, and an alias can repeat one in many entries. */
const MAX_PROBLEMS = 1000

/** The longest name of a field in a message, which may repeat it, too. */
const MAX_PATH = 200

/** Accepts what commands and the API show, although nobody sets it: so what they list can be applied. */
const ignoring = (shape: object) => Object.fromEntries(Object.keys(shape).map((name) => [name, z.unknown().optional()]))

const suite = z.strictObject({
  ...ignoring(SHOWN_SUITE.shape),
  ...jsonNamed({ suiteId: suiteSchema.shape.suiteId, ...suiteUpdateSchema.shape }),
})

const application = z.strictObject({
  ...ignoring({ ...LISTED_APPLICATION.shape, ...SHOWN_APPLICATION.shape }),
  ...jsonNamed({ clientId: registrationSchema.shape.clientId.unwrap(), ...settingsSchema.partial().shape }),
  client_secret: z.never(SECRET).optional(),
})

const applyFile = z
  .strictObject({
    suites: listOf(suite).optional(),
    applications: listOf(application).optional(),
    // Of a page of the API.
    next: z.null('This is one page of several: put all into one file').optional(),
    total: z.unknown().optional(),
  })
  .refine(({ suites, applications }) => suites ?? applications, 'It needs a list of suites or applications')

/** What `list --json` prints, with the name of the list. An empty one has none. */
function named(list: unknown[]): object {
  if (list.length === 0) return {}
  return Object.hasOwn(Object(list[0]), 'client_id') ? { applications: list } : { suites: list }
}

function listOf<Entry extends z.ZodType>(entry: Entry) {
  return z.array(z.unknown()).transform((rows, context) =>
    rows.map((row, at) => {
      const result = context.issues.length > MAX_PROBLEMS ? undefined : entry.safeParse(row)
      for (const [path, message] of problemsIn(result?.error))
        context.addIssue({ code: 'custom', path: [at, ...path], message })
      return result?.data as z.infer<Entry>
    }),
  )
}

function problemsIn({ issues }: Pick<z.ZodError, 'issues'> = { issues: [] }): Problem[] {
  return issues.flatMap((issue): Problem[] =>
    issue.code === 'unrecognized_keys'
      ? issue.keys.map((key) => [[...issue.path, key], 'There is no such field'])
      : [[issue.path, issue.message]],
  )
}

/** Parses a YAML or JSON file. Throws OperatorError with every problem, its line and its column; the messages repeat no value. */
export function parseApplyFile(file: string, content: string): Wanted {
  const lines = new LineCounter()
  const document = parseDocument(content, { lineCounter: lines, prettyErrors: false, merge: true, uniqueKeys: false })

  /** Where a value begins; of what is missing, the nearest one around it. */
  function offsetOf(path: PropertyKey[]): number {
    const node = document.getIn(isSeq(document.contents) ? path.slice(1) : path, true)
    if (isNode(node) && node.range) return node.range[0]
    return path.length === 0 ? 0 : offsetOf(path.slice(0, -1))
  }

  function refused(problems: Fault[]): OperatorError {
    const shown = problems.sort(([one], [other]) => one - other).slice(0, MAX_PROBLEMS)
    const placed = shown.map(([offset, words]) => {
      const { line, col } = lines.linePos(offset)
      return `\n  ${file}:${line}:${col} ${words}`
    })
    if (problems.length > shown.length) placed.push('\n  There are more.')
    return new OperatorError(`Nothing was changed. Problems of the file:${placed.join('')}`)
  }
  const nameOf = (path: PropertyKey[]) => z.core.toDotPath(path).slice(0, MAX_PATH) || 'file'
  const refuse = (problems: Problem[]) =>
    refused(problems.slice(0, MAX_PROBLEMS + 1).map(([path, why]) => [offsetOf(path), `${nameOf(path)}: ${why}`]))

  // The rest of a message quotes the text, which may have a secret.
  const withoutText = (message: string) => message.replace(/(?<=\w)(: |; | sequence ).*/s, '')
  const faults = [...document.errors, ...document.warnings].map(
    ({ pos, message }): Fault => [pos[0], withoutText(message)],
  )
  const value = readDocument(document, faults)
  if (faults.length > 0) throw refused(faults)
  const result = applyFile.safeParse(Array.isArray(value) ? named(value) : value)
  if (result.success) return { ...result.data, refuse }
  throw refuse(problemsIn(result.error))
}
