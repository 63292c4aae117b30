import { Command } from 'commander'
import { z } from 'zod'
import type { Registration, SuiteRegistration } from '../administration/registration.ts'
import { fields } from '../administration/rules.ts'
import { AdministrationError } from '../domain/refusal.ts'
import { registeredJson, registeredWords } from './applications.ts'
import { administer } from './shared/administer.ts'
import { print, readInput, type Terminal, withJson } from './shared/terminal.ts'
import { registeredSuiteJson, registeredSuiteWords } from './suites.ts'

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
    .superRefine(assertNoTwins(({ suiteId }) => suiteId)),
  applications: z
    .array(application)
    .default([])
    .superRefine(
      assertNoTwins(({ clientId, name, developerEmail }) => clientId ?? JSON.stringify([name, developerEmail])),
    ),
})

/** `seed FILE`: registers the suites and applications of a file that are missing. */
export function seedCommand(terminal: Terminal): Command {
  return withJson(new Command('seed'))
    .description(
      'register the suites and applications of a JSON file that are missing, and print their credentials, once',
    )
    .argument('<file>', 'the file, - for standard input')
    .action(async (file: string, options) => {
      const seeds = parseSeedFile(file, await readInput(terminal, file))
      const { suites, applications } = await administer(terminal, ({ seed }) => seed(seeds))
      const registered = suites.length + applications.length
      const existing = seeds.suites.length + seeds.applications.length - registered
      const paragraphs = suites.map(registeredSuiteWords)
      if (applications.length > 0) paragraphs.push(registeredWords(applications))
      paragraphs.push(`Registered ${registered}, left ${existing} as they were.`)
      const result = {
        suites: suites.map(registeredSuiteJson),
        applications: applications.map(registeredJson),
        existing,
      }
      print(terminal, options, result, paragraphs.join('\n\n'))
    })
}

function parseSeedFile(file: string, content: string) {
  const result = seedFile.safeParse(parseJson(file, content))
  if (result.success) return result.data
  const problems = result.error.issues.map(({ path, message }) => `${z.core.toDotPath(path) || 'the file'}: ${message}`)
  throw new AdministrationError(`${file} changes nothing, because:\n  ${problems.join('\n  ')}`)
}

function parseJson(file: string, content: string): unknown {
  try {
    return JSON.parse(content)
  } catch (error) {
    // The message itself quotes the text, and with it perhaps a secret.
    const [where] = /\(line \d+ column \d+\)/.exec((error as Error).message) ?? ['']
    throw new AdministrationError(`${file} is not JSON ${where}`.trimEnd().concat('.'))
  }
}

function assertNoTwins<Row>(identity: (row: Row) => string) {
  return (rows: Row[], context: z.RefinementCtx) => {
    const seen = new Set<string>()
    for (const [index, row] of rows.entries()) {
      if (seen.has(identity(row)))
        context.addIssue({ code: 'custom', path: [index], message: 'It stands in the list twice' })
      seen.add(identity(row))
    }
  }
}
