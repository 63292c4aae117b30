import { Command } from 'commander'
import { z } from 'zod'
import type { Registration } from '../issuer/administration.ts'
import { AdministrationError } from '../issuer/refusal.ts'
import { fields } from '../issuer/registration.ts'
import { administer } from './administer.ts'
import { registeredJson, registeredWords } from './applications.ts'
import { print, readInput, type Terminal, withJson } from './terminal.ts'

const application = z
  .strictObject({
    name: fields.name,
    developer_email: fields.developerEmail,
    client_id: fields.clientId.optional(),
    client_secret: fields.clientSecret.optional(),
  })
  .transform(
    (row): Registration => ({
      name: row.name,
      developerEmail: row.developer_email,
      clientId: row.client_id,
      clientSecret: row.client_secret,
    }),
  )

const seedFile = z.strictObject({ applications: z.array(application).superRefine(assertNoTwins) })

/** `seed FILE`: registers the applications of a file that are missing. */
export function seedCommand(terminal: Terminal): Command {
  return withJson(new Command('seed'))
    .description('register the applications of a JSON file that are missing, and print their credentials, once')
    .argument('<file>', 'the file, - for standard input')
    .action(async (file: string, options) => {
      const { applications } = parseSeedFile(file, await readInput(terminal, file))
      const registered = await administer(terminal, ({ seed }) => seed(applications))
      const kept = applications.length - registered.length
      const summary = `Registered ${registered.length}, left ${kept} as they were.`
      const words = registered.length === 0 ? summary : `${registeredWords(registered)}\n\n${summary}`
      print(terminal, options, { registered: registered.map(registeredJson), existing: kept }, words)
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

function assertNoTwins(applications: Registration[], context: z.RefinementCtx): void {
  const seen = new Set<string>()
  for (const [index, { clientId, name, developerEmail }] of applications.entries()) {
    const identity = clientId === undefined ? JSON.stringify([name, developerEmail]) : clientId
    if (seen.has(identity)) context.addIssue({ code: 'custom', path: [index], message: 'It stands in the list twice' })
    seen.add(identity)
  }
}
