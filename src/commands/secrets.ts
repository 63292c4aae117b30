import { type Command, Option } from 'commander'
import { secretView, timestamp } from '../administration/views.ts'
import { OperatorError } from '../domain/operator-error.ts'
import { administer } from './shared/administer.ts'
import { addCommand, type JsonOption, print, printSecret, show, type Terminal } from './shared/terminal.ts'
import { labelled, number, secretsTable, upToAYear } from './shared/text.ts'

export const secretId = number(/^\d{1,15}$/, 'It must be a number from secrets list.')

const ID = 'the client id of an application, or the id of a suite'

export function addSecrets(program: Command, terminal: Terminal): void {
  const secrets = program.command('secrets').description('rotate and revoke the secrets of an application or a suite')

  addCommand(secrets, 'rotate', 'make a new secret now, print it once, and end the other secrets after an overlap')
    .argument('<id>', ID)
    .addOption(
      new Option('--overlap <duration>', 'how long the other secrets stay valid: 0, 90s, 30m, 24h, 7d; at most 365d')
        .argParser(upToAYear)
        .default(upToAYear('24h'), '24h'),
    )
    .action(async (owner: string, options: JsonOption & { overlap: number }) => {
      const rotated = await administer(terminal, ({ secrets }) => secrets.rotate(owner, options.overlap))
      const credentials = { client_id: owner, client_secret: rotated.clientSecret }
      const end = timestamp(rotated.othersEndAt)
      const words = `${labelled(credentials)}\nThe secret is shown only now and cannot be shown again. The others end at ${end} at the latest.`
      await printSecret(owner, terminal, options, { ...credentials, others_end_at: end }, words)
    })

  addCommand(
    secrets,
    'list',
    'list the secrets: when created and last used, and whether active (never the secrets themselves)',
  )
    .argument('<id>', ID)
    .action(async (owner: string, options) => {
      const views = (await administer(terminal, ({ secrets }) => secrets.list(owner))).map(secretView)
      await show(terminal, options, views, secretsTable(views))
    })

  addCommand(secrets, 'revoke', 'end one secret now')
    .argument('<id>', ID)
    .argument('<secret-id>', 'its id in "secrets list"', secretId)
    .option('--force', 'even if it is the last active one')
    .action(async (owner: string, id: number, options: JsonOption & { force?: boolean }) => {
      const isNew = await administer(terminal, ({ secrets }) => secrets.revoke(owner, id, options)).catch(withForce)
      const result = { client_id: owner, id, status: 'revoked' }
      const words = isNew ? 'is revoked' : 'was already revoked'
      await print(terminal, options, result, `The secret ${id} of ${owner} ${words}.`)
    })
}

/** Adds to the message how to revoke even the last active secret. */
export function withForce(error: unknown): never {
  if (!(error instanceof OperatorError) || error.kind !== 'last secret') throw error
  throw new OperatorError(`${error.message} To do it anyway, use --force.`, { cause: error })
}
