import { z } from 'zod'
import { OperatorError } from '../domain/operator-error.ts'
import type { Registration } from './applications.ts'
import { fields } from './rules.ts'
import { nameAndDeveloper } from './seed-lookup.ts'
import { type Seeds, seedProblems } from './seed-plan.ts'
import type { SuiteRegistration } from './suites.ts'

const application = z
  .strictObject({
    name: fields.name,
    developer_email: fields.developerEmail,
    client_id: fields.clientId.optional(),
    client_secret: fields.clientSecret.optional(),
    suites: z.array(fields.suiteId).optional(),
  })
  .transform(
    (row): Registration => ({
      name: row.name,
      developerEmail: row.developer_email,
      clientId: row.client_id,
      clientSecret: row.client_secret,
      suites: row.suites,
    }),
  )

const suite = z
  .strictObject({ id: fields.newSuiteId, name: fields.name })
  .transform(({ id, name }): SuiteRegistration => ({ suiteId: id, name }))

const seedFile = z.strictObject({
  suites: z
    .array(suite)
    .default([])
    .superRefine(assertDistinct('suites', ({ suiteId }) => ['id', suiteId])),
  applications: z
    .array(application)
    .default([])
    .superRefine(
      assertDistinct('applications', (registration) =>
        registration.clientId === undefined
          ? ['name and developer_email', nameAndDeveloper(registration)]
          : ['client_id', registration.clientId],
      ),
    ),
})

/** What a seed file asks for. Throws OperatorError with every problem and its place; it repeats no value. */
export function parseSeedFile(file: string, content: string): Seeds {
  const result = seedFile.safeParse(parseJson(file, content))
  if (result.success) return result.data
  const problems = result.error.issues.map(({ path, message }) => `${z.core.toDotPath(path) || 'the file'}: ${message}`)
  throw seedProblems(file, problems)
}

function parseJson(file: string, content: string): unknown {
  try {
    return JSON.parse(content)
  } catch (error) {
    // The message itself quotes the text, and with it perhaps a secret.
    const [where] = /\(line \d+ column \d+\)/.exec((error as Error).message) ?? ['']
    throw new OperatorError(`${file} is not JSON ${where}`.trimEnd().concat('.'))
  }
}

/** `identity`: the fields that no two entries may have in common, and their values. */
function assertDistinct<Row>(list: string, identity: (row: Row) => [fields: string, values: string]) {
  return (rows: Row[], context: z.RefinementCtx) => {
    const seen = new Map<string, number>()
    for (const [index, row] of rows.entries()) {
      const [fields, values] = identity(row)
      const first = seen.get(`${fields} ${values}`)
      if (first === undefined) seen.set(`${fields} ${values}`, index)
      else {
        const message = `It has the same ${fields} as ${list}[${first}]`
        context.addIssue({ code: 'custom', path: [index], message })
      }
    }
  }
}
