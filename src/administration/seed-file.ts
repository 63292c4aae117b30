import { z } from 'zod'
import { OperatorError } from '../domain/operator-error.ts'
import type { Registration } from './applications.ts'
import { fields } from './rules.ts'
import { nameAndDeveloper, type Seeds } from './seed-plan.ts'
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
  .strictObject({ id: fields.suiteId, name: fields.name })
  .transform(({ id, name }): SuiteRegistration => ({ suiteId: id, name }))

const seedFile = z.strictObject({
  suites: z
    .array(suite)
    .default([])
    .superRefine(assertDistinct(({ suiteId }) => suiteId)),
  applications: z
    .array(application)
    .default([])
    .superRefine(assertDistinct((registration) => registration.clientId ?? nameAndDeveloper(registration))),
})

/** What a seed file asks for. Throws OperatorError with every problem and its place; it repeats no value. */
export function parseSeedFile(file: string, content: string): Seeds {
  const result = seedFile.safeParse(parseJson(file, content))
  if (result.success) return result.data
  const problems = result.error.issues.map(({ path, message }) => `${z.core.toDotPath(path) || 'the file'}: ${message}`)
  throw new OperatorError(`Nothing was changed. Problems in ${file}:\n  ${problems.join('\n  ')}`)
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

function assertDistinct<Row>(identity: (row: Row) => string) {
  return (rows: Row[], context: z.RefinementCtx) => {
    const seen = new Set<string>()
    for (const [index, row] of rows.entries()) {
      if (seen.has(identity(row))) context.addIssue({ code: 'custom', path: [index], message: 'It appears twice' })
      seen.add(identity(row))
    }
  }
}
