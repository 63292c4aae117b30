import { type ErrorCode, isNode, isSeq, LineCounter, parseDocument } from 'yaml'
import * as z from 'zod'
import { OperatorError } from '../domain/operator-error.ts'
import { MANAGED_BY } from '../views/registry.ts'
import type { Fields, Problem, Wanted } from './apply-plan.ts'
import { jsonNamed, registrationSchema, settingsSchema, suiteId, suiteSchema, suiteUpdateSchema } from './rules.ts'
import { LISTED_APPLICATION, SHOWN_APPLICATION, SHOWN_SUITE } from './views.ts'
import { type Fault, readDocument } from './yaml-document.ts'

const SECRET = 'A secret does not belong in this file: "seed" imports one, and a new application gets a new one'

const CLIENT_ID =
  'A client id that you choose, or that it has already: 1 to 200 printable ASCII characters without spaces'

const SUITES = 'The suites must be a list, or "all"'

/** The search for problems ends at this number: each takes memory, and an alias can repeat one in many entries. */
const MAX_PROBLEMS = 1000

/** Shorter messages for faults whose own quotes text that may be a secret. Others quote it only after a colon or a semicolon. */
const QUOTING: Partial<Record<ErrorCode, string>> = {
  BAD_DIRECTIVE: 'Invalid directive',
  BAD_DQ_ESCAPE: 'Invalid escape',
  TAG_RESOLVE_FAILED: 'Unresolved tag',
}

const MAX_PATH = 200

/** Accepts the read-only fields that commands and the API show, so that what they list can be read. */
const ignoring = (shape: object) => Object.fromEntries(Object.keys(shape).map((name) => [name, ignored.optional()]))

const ignored = z.unknown().meta({ readOnly: true, description: 'Ignored' })

const shownSuite = ignoring(SHOWN_SUITE.shape)
const shownApplication = ignoring({ ...LISTED_APPLICATION.shape, ...SHOWN_APPLICATION.shape })

const appliedSuite = z.strictObject({
  ...shownSuite,
  ...jsonNamed({ suiteId: suiteSchema.shape.suiteId, ...suiteUpdateSchema.shape }),
})

const clientId = registrationSchema.shape.clientId.unwrap()

const appliedApplication = z.strictObject({
  ...shownApplication,
  ...jsonNamed({ clientId: clientId.describe(CLIENT_ID), ...settingsSchema.partial().shape }),
  client_secret: z.never(SECRET).describe(SECRET).optional(),
})

const seededSuite = z.strictObject({ ...shownSuite, ...jsonNamed(suiteSchema.shape) })

const seededApplication = z.strictObject({
  ...shownApplication,
  ...jsonNamed(registrationSchema.shape),
  // Every version has approved a new application without suites for all of them.
  suites: z
    .preprocess((value) => (value === 'all' ? undefined : value), z.array(suiteId, SUITES).optional())
    .transform((suites) => suites ?? 'all'),
})

const applyFile = applyFileOf(listOf)
const seedFile = fileOf(listOf, seededSuite, seededApplication)

type ListOf = <Entry extends z.ZodType>(entry: Entry) => z.ZodType<z.infer<Entry>[]>

/** The schema of a file with such entries. `list` makes the schema of a list. */
function fileOf<Suite extends z.ZodType, Application extends z.ZodType>(
  list: ListOf,
  suite: Suite,
  application: Application,
) {
  return z.strictObject({
    managed_by: MANAGED_BY.min(1, 'It must not be empty')
      .describe('The name of this file, such as that of its repository: its entries are marked with it')
      .optional(),
    suites: list(suite).optional(),
    applications: list(application).optional(),
    // Present in a page of the API.
    next: z.null('This is one page of several: put all into one file').optional(),
    total: ignored.optional(),
  })
}

/** The schema of a file for `apply`. */
export function applyFileOf(list: ListOf) {
  return fileOf(list, appliedSuite, appliedApplication)
    .refine(({ suites, applications }) => suites ?? applications, 'It needs a list of suites or applications')
    .meta({ anyOf: [{ required: ['suites'] }, { required: ['applications'] }] })
}

/** What `list --json` prints, with the name of the list, which an empty list does not have. */
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

/** Parse a file for `apply` or `seed`. Throw OperatorError, as `parse` does. */
export const parseApplyFile = (file: string, content: string) => parse(file, content, applyFile)
export const parseSeedFile = (file: string, content: string) => parse(file, content, seedFile)

/** Parses a YAML or JSON file or list. Throws OperatorError with each problem and its place, but no value. */
function parse(file: string, content: string, schema: z.ZodType<Omit<Wanted, 'refuse'>>): Wanted {
  const lines = new LineCounter()
  const document = parseDocument(content, { lineCounter: lines, prettyErrors: false, merge: true, uniqueKeys: false })

  /** Where a value begins or, if it is missing, where the nearest one around it begins. */
  function offsetOf(path: PropertyKey[]): number {
    const node = document.getIn(isSeq(document.contents) ? path.slice(1) : path, true)
    if (isNode(node) && node.range) return node.range[0]
    return path.length === 0 ? 0 : offsetOf(path.slice(0, -1))
  }

  function refused(faults: Fault[]): OperatorError {
    const shown = faults.sort(([one], [other]) => one - other).slice(0, MAX_PROBLEMS)
    const placed = shown.map(([offset, words]) => {
      const { line, col } = lines.linePos(offset)
      return `\n  ${file}:${line}:${col} ${words}`
    })
    if (faults.length > shown.length) placed.push('\n  There are more.')
    return new OperatorError(`Nothing was changed. Problems in the file:${placed.join('')}`)
  }
  const nameOf = (path: PropertyKey[]) => z.core.toDotPath(path).slice(0, MAX_PATH) || 'file'
  const placed = (problems: Problem[]) =>
    problems.slice(0, MAX_PROBLEMS + 1).map(([path, why]): Fault => [offsetOf(path), `${nameOf(path)}: ${why}`])

  const faults = [...document.errors, ...document.warnings].map(
    ({ pos, code, message }): Fault => [pos[0], QUOTING[code] ?? message.replace(/(?<=\w)(: |; ).*/s, '')],
  )
  const repeatedKeys: Fault[] = []
  const value = readDocument(document, faults, repeatedKeys)
  // What cannot be parsed cannot be checked.
  if (faults.length > 0) throw refused([...faults, ...repeatedKeys])
  const { data, error } = schema.safeParse(Array.isArray(value) ? named(value) : value)
  if (error || repeatedKeys.length > 0) throw refused([...repeatedKeys, ...placed(problemsIn(error))])
  const { managed_by, suites, applications }: Omit<Wanted, 'refuse'> = { ...data }
  const marked = (entries?: readonly Fields[]) =>
    entries?.map((entry) => (managed_by ? { ...entry, managed_by } : entry))
  const refuse = (problems: Problem[]) => refused(placed(problems))
  return { managed_by, suites: marked(suites), applications: marked(applications), refuse }
}
