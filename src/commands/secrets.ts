import { Command, Option } from 'commander'
import { secretView, timestamp } from '../administration/views.ts'
import { OperatorError } from '../domain/operator-error.ts'
import { administer } from './shared/administer.ts'
import { type JsonOption, print, printSecret, show, type Terminal, withJson } from './shared/terminal.ts'
import { number, secretsTable, upToAYear } from './shared/text.ts'

const ID = 'the client id of an application, or the id of a suite'

/** `secrets …`: what an application or a suite authenticates with. */
export function secretsCommand(terminal: Terminal): Command {
  const secrets = new Command('secrets').description('rotate and revoke the secrets of an application or a suite')

  withJson(secrets.command('rotate'))
    .description('make a new secret now, print it once, and end the others after an overlap')
    .argument('<id>', ID)
    .addOption(
      new Option('--overlap <duration>', 'how long the others stay valid: 0, 90s, 30m, 24h, 7d; 365d at most')
        .argParser(upToAYear)
        .default(upToAYear('24h'), '24h'),
    )
    .action(async (owner: string, options: { overlap: number; json?: boolean }) => {
      const rotated = await administer(terminal, ({ secrets }) => secrets.rotate(owner, options.overlap))
      const end = timestamp(rotated.othersEndAt)
      const words = [
        `client_id      ${owner}`,
        `client_secret  ${rotated.clientSecret}`,
        `The secret is shown this once and cannot be shown again. The others end at ${end} at the latest.`,
      ]
      const result = { client_id: owner, client_secret: rotated.clientSecret, others_end_at: end }
      await printSecret(owner, terminal, options, result, words.join('\n'))
    })

  withJson(secrets.command('list'))
    .description('list the secrets: when created and last used, whether active; never the secrets themselves')
    .argument('<id>', ID)
    .action(async (owner: string, options) => {
      const all = await administer(terminal, ({ secrets }) => secrets.list(owner))
      const views = all.map(secretView)
      await show(terminal, options, views, secretsTable(views))
    })

  withJson(secrets.command('revoke'))
    .description('end one secret now')
    .argument('<id>', ID)
    .argument('<secret-id>', 'its id in secrets list', number(/^\d{1,15}$/, 'It must be a number from secrets list.'))
    .option('--force', 'even if it is the last active one')
    .action(async (owner: string, id: number, options: JsonOption & { force?: boolean }) => {
      const isNew = await administer(terminal, ({ secrets }) => secrets.revoke(owner, id, options)).catch(withForce)
      const result = { client_id: owner, id, status: 'revoked' }
      const words = isNew ? 'is revoked' : 'was revoked before'
      await print(terminal, options, result, `The secret ${id} of ${owner} ${words}.`)
    })

  return secrets
}

/** Adds to a conflict error that --force overrides it. */
function withForce(error: unknown): never {
  if (!(error instanceof OperatorError) || error.kind !== 'conflict') throw error
  throw new OperatorError(`${error.message} The option for that is --force.`, { cause: error })
}
