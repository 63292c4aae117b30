import { type Command, Option } from 'commander'
import { type FederatedInput, keysIn } from '../administration/rules.ts'
import { type SecretView, secretView } from '../administration/views.ts'
import { labelsIn, labelTexts } from '../domain/application.ts'
import { OperatorError } from '../domain/operator-error.ts'
import { timestamp } from '../domain/time.ts'
import { secretId, withForce } from './secrets.ts'
import { administer } from './shared/administer.ts'
import { collect } from './shared/annotations.ts'
import { addCommand, type JsonOption, print, readInput, show, type Terminal } from './shared/terminal.ts'
import { ending, stateText, table } from './shared/text.ts'

const isFederated = ({ origin }: Pick<SecretView, 'origin'>) => origin === 'federated'

export interface RuleOptions {
  issuer?: string
  subject?: string
  audience?: string
  claim?: string[]
  ends?: number
  jwksFile?: string
}

/** Adds the options of a federated credential. `isNeeded`: whether it must be given. */
export function addRuleOptions(command: Command, isNeeded = false): Command {
  return command
    .addOption(new Option('--issuer <url>', 'the issuer of its JWTs (iss), an https URL').makeOptionMandatory(isNeeded))
    .addOption(new Option('--subject <subject>', 'their sub; a * stands for a segment').makeOptionMandatory(isNeeded))
    .option('--audience <audience>', 'their aud (default: PUBLIC_URL)')
    .option('--claim <name=value>', 'a further claim that they must have; may be repeated', collect)
    .addOption(
      new Option('--ends <time>', 'when it ends: 2027-01-31, or 90d from now (default: never)').argParser(ending),
    )
    .option('--jwks-file <file>', "a file with the issuer's public keys, if the server cannot get them, or -")
}

/** The federated credential that the options describe, not checked yet. */
export async function ruleIn(terminal: Terminal, options: RuleOptions): Promise<FederatedInput> {
  const { issuer = '', subject = '', audience, claim = [], ends, jwksFile } = options
  const keys = jwksFile === undefined ? null : keysIn(await readInput(terminal, jwksFile))
  const ends_at = ends === undefined ? null : timestamp(ends)
  return { issuer, subject, audience, claims: labelsIn(claim), keys, ends_at }
}

export function addFederated(program: Command, terminal: Terminal): void {
  const federated = program
    .command('federated')
    .description("accept a workload's own JWTs where its secret stood: of Kubernetes, GitHub Actions …")

  const add = addCommand(federated, 'add <client-id>', 'add a federated credential; the secrets stay valid')
  addRuleOptions(add, true).action(async (clientId: string, options: JsonOption & RuleOptions) => {
    const rule = await ruleIn(terminal, options)
    const id = await administer(terminal, ({ federated }) => federated.add(clientId, rule))
    const words = `The federated credential ${id} is added to ${clientId}.`
    await print(terminal, options, { client_id: clientId, id, status: 'added' }, words)
  })

  addCommand(federated, 'list [client-id]', 'list the federated credentials of an application, or of all').action(
    async (clientId: string | undefined, options) => {
      const found = await administer(terminal, async ({ secrets }) => {
        if (clientId === undefined)
          return (await Array.fromAsync(secrets.pages(() => true, { federated: true }))).flat()
        return (await secrets.list(clientId)).filter(isFederated).map((secret) => ({ ...secret, owner: clientId }))
      })
      const views = found.map(({ owner, ...secret }) => ({ client_id: owner, ...secretView(secret) }))
      await show(terminal, options, views, credentialsTable(views))
    },
  )

  addCommand(federated, 'remove', 'end a federated credential now')
    .argument('<client-id>', 'the client id of its application')
    .argument('<id>', 'its id in "federated list"', secretId)
    .option('--force', 'even if nothing else authenticates the application')
    .action(async (clientId: string, id: number, options: JsonOption & { force?: boolean }) => {
      await administer(terminal, async ({ secrets }) => {
        const isKnown = (await secrets.list(clientId)).some((secret) => secret.id === id && isFederated(secret))
        if (!isKnown) throw new OperatorError(`${clientId} has no federated credential ${id}.`)
        await secrets.revoke(clientId, id, options)
      }).catch(withForce)
      const words = `The federated credential ${id} of ${clientId} is removed.`
      await print(terminal, options, { client_id: clientId, id, status: 'removed' }, words)
    })

  addCommand(federated, 'test <client-id>', 'say step by step whether a JWT would be accepted, without issuing a token')
    .requiredOption('--token-file <file>', 'a file with the JWT, or - for standard input')
    .action(async (clientId: string, options: JsonOption & { tokenFile: string }) => {
      const token = (await readInput(terminal, options.tokenFile)).trim()
      const { accepted, steps } = await administer(terminal, ({ federated }) => federated.test(clientId, token))
      const words = steps.map(({ ok, text }) => `${ok ? 'ok  ' : 'FAIL'}  ${text}`)
      await show(terminal, options, { client_id: clientId, accepted, steps }, words.join('\n'))
      if (!accepted) throw new OperatorError('This token would be refused.')
    })
}

function credentialsTable(credentials: readonly (SecretView & { client_id: string })[]): string {
  const rows = credentials.map(({ client_id, id, federated, last_used_at, ...secret }) => {
    const { issuer, subject, audience, claims, keys } = federated as NonNullable<typeof federated>
    const source = keys ? `given: ${keys.length}` : 'from the issuer'
    const rule = [issuer, subject, audience ?? 'PUBLIC_URL', labelTexts(claims).join(' '), source]
    return [client_id, String(id), ...rule, last_used_at ?? 'never', stateText(secret)]
  })
  return table(['client id', 'id', 'issuer', 'subject', 'audience', 'claims', 'keys', 'last used', 'state'], rows)
}
