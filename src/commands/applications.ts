import { type Command, Option } from 'commander'
import type { Administration } from '../administration/administration.ts'
import type { ShownApplication } from '../administration/applications.ts'
import { fields, optionalFields } from '../administration/rules.ts'
import type { SearchFilter } from '../administration/search.ts'
import { listedApplicationView, registeredApplicationView, shownApplicationView } from '../administration/views.ts'
import { type ApplicationValues, columnsOf, labelTexts, OPTIONAL_COLUMNS } from '../domain/application.ts'
import { addRuleOptions, type RuleOptions, ruleIn } from './federated.ts'
import { administer, type CreateOption, createOption } from './shared/administer.ts'
import {
  type AnnotationOptions,
  addAnnotations,
  addLabelFilter,
  addListOptions,
  annotated,
  annotationTexts,
  collect,
  completeUpdate,
  textOptions,
  warnIfManaged,
} from './shared/annotations.ts'
import {
  addCommand,
  type JsonOption,
  print,
  printSecret,
  readInput,
  say,
  show,
  type Terminal,
} from './shared/terminal.ts'
import { labelled, number, registeredApplicationText, SHOWN_ONCE, secretsTable, table } from './shared/text.ts'

const WITHOUT_SUITES =
  'The application is approved for no suite, so its tokens are valid nowhere: applications approve CLIENT_ID --suite ID.'

interface RegisterOptions extends ApplicationValues, AnnotationOptions, RuleOptions, CreateOption, JsonOption {
  clientId?: string
  clientSecretFile?: string
  suite?: string[]
  allSuites?: boolean
}

interface ListOptions extends Pick<SearchFilter, 'status' | 'suite'>, JsonOption {
  search?: string
  label?: string[]
  limit?: number
}

const CHANGES = [
  ['suspend', 'stop issuing tokens to an application, and make its tokens inactive', 'suspended'],
  ['resume', 'end the suspension of an application', 'active'],
  ['remove', 'remove an application, its secrets and its tokens', 'removed'],
] as const

export function addApplications(program: Command, terminal: Terminal): void {
  const applications = program.command('applications').alias('apps').description('register and manage applications')
  addRegister(applications, terminal)
  addUpdates(applications, terminal)
  addLists(applications, terminal)
  addApprovals(applications, terminal)
  for (const [name, description, status] of CHANGES) {
    const command = addCommand(applications, `${name} <client-id>`, description)
    command.action(async (clientId: string, options) => {
      await administer(terminal, async ({ applications }) => {
        const found = await applications.find(clientId)
        if (await applications[name](clientId)) warnIfManaged(terminal, options, found)
      })
      await print(terminal, options, { client_id: clientId, status }, `The application ${clientId} is ${status}.`)
    })
  }
}

function quotaOption(): Option {
  const parse = number(/^[1-9]\d{0,8}$/, 'It must be a whole number above 0, or default.')
  const description = 'how many tokens it may get in an hour, or default: TOKEN_QUOTA'
  return new Option('--quota <number>', description).argParser((text) => (text === 'default' ? 0 : parse(text)))
}

function addRegister(applications: Command, terminal: Terminal): void {
  const command = addCommand(applications, 'register', 'register an application, and print its credentials once')
  for (const option of textOptions(fields)) command.addOption(option.makeOptionMandatory())
  addRuleOptions(addListOptions(addAnnotations(command.addOption(quotaOption()), optionalFields)))
    .option('--client-id <id>', 'the client id, if it already has one (default: a new one)')
    .option('--client-secret-file <file>', 'a file with the secret that it already has, or - for standard input')
    .option('--suite <id>', 'a suite to approve it for; may be repeated (default: none)', collect)
    .addOption(new Option('--all-suites', 'approve it for every suite').conflicts('suite'))
    .addOption(createOption())
    .action(async (options: RegisterOptions) => {
      const { clientId, clientSecretFile, suite, allSuites, create, json: _, ...given } = annotated(options)
      const { issuer, subject, audience, claim, ends, jwksFile, ...values } = given
      const clientSecret = clientSecretFile === undefined ? undefined : await readSecret(terminal, clientSecretFile)
      const rule = [issuer, subject, audience, claim, ends, jwksFile]
      const isFederated = rule.some((option) => option !== undefined)
      const federated = isFederated ? [await ruleIn(terminal, options)] : undefined
      const suites = allSuites ? 'all' : suite
      const registered = await administer(
        terminal,
        ({ applications }) => applications.register({ ...values, clientId, clientSecret, suites, federated }),
        { create },
      )
      const text = registeredApplicationText(registered, { suites: registered.suites.join(', ') || 'none' })
      const result = { ...registeredApplicationView(registered), suites: registered.suites }
      if (!registered.clientSecret) await print(terminal, options, result, text)
      else await printSecret(registered.clientId, terminal, options, result, `${text}\n\n${SHOWN_ONCE}`)
      if (registered.suites.length === 0) say(terminal, options, 'warning', WITHOUT_SUITES)
    })
}

function addUpdates(applications: Command, terminal: Terminal): void {
  const update = addCommand(applications, 'update <client-id>', 'change the name or other fields of an application')
  for (const option of textOptions(fields)) update.addOption(option)
  addListOptions(addAnnotations(update.addOption(quotaOption()), optionalFields))
    .option('--remove-source <range>', 'one that it may no longer authenticate from; may be repeated', collect)
    .option('--remove-public <key>', 'the key of a label that they no longer see; may be repeated', collect)
    .option('--enforce <limit>', 'what to refuse again instead of reporting it; may be repeated', collect)
  completeUpdate(update, terminal, 'application', ({ applications }) => applications, shownApplicationView)

  addCommand(
    applications,
    'add-secret <client-id>',
    'add a secret that an application already has; its others stay valid',
  )
    .requiredOption('--client-secret-file <file>', 'a file with the secret, or - for standard input')
    .action(async (clientId: string, options: JsonOption & { clientSecretFile: string }) => {
      const clientSecret = await readSecret(terminal, options.clientSecretFile)
      await administer(terminal, ({ applications }) => applications.addSecret(clientId, clientSecret))
      const result = { client_id: clientId, status: 'added' }
      await print(terminal, options, result, `The secret is added to ${clientId}; its others stay valid.`)
    })
}

function addLists(applications: Command, terminal: Terminal): void {
  addLabelFilter(addCommand(applications, 'list', 'list the applications'))
    .option('--search <text>', 'only those with this text in their client id, name, developer email, labels or note')
    .option('--suite <id>', 'only those that are approved for this suite')
    .addOption(new Option('--status <status>', 'only those with this status').choices(['active', 'suspended']))
    .option(
      '--limit <number>',
      'only the newest, at most this many',
      number(/^[1-9]\d{0,8}$/, 'It must be a whole number above 0.'),
    )
    .action(async ({ search, status, suite, label, limit, ...options }: ListOptions) => {
      const filter = { text: search, status, suite, labels: label, limit }
      const all = await administer(terminal, ({ applications }) => applications.list(filter))
      const rows = all.map((one) => [
        one.clientId,
        one.name,
        one.developerEmail,
        one.status,
        `${one.tokensThisHour} (${one.tokensLastHour})`,
        labelTexts(one.labels).join(', '),
      ])
      const tokens = 'tokens in the last hour (the hour before)'
      const words = table(['client id', 'name', 'developer email', 'status', tokens, 'labels'], rows)
      await show(terminal, options, all.map(listedApplicationView), words)
    })

  const description = 'show one application and its secrets (never the secrets themselves)'
  addCommand(applications, 'show <client-id>', description).action(async (clientId: string, options) => {
    const application = await administer(terminal, ({ applications }) => applications.show(clientId))
    await show(terminal, options, shownApplicationView(application), applicationText(application))
  })
}

function addApprovals(applications: Command, terminal: Terminal): void {
  const approve = "make an application's tokens valid at a suite"
  addApproval('approve', approve, 'approved', async (applications, id, suites) => {
    await applications.approve(id, ...suites)
    return [`is approved for the ${suitesText(suites)}`]
  })
  addApproval('withdraw', 'withdraw the approval for a suite', 'withdrawn', async (applications, id, suites) => {
    const withdrawn = await applications.withdraw(id, ...suites)
    const others = suites.filter((suite) => !withdrawn.includes(suite))
    return [
      ...(withdrawn.length > 0 ? [`is no longer approved for the ${suitesText(withdrawn)}`] : []),
      ...(others.length > 0 ? [`was not approved for the ${suitesText(others)}`] : []),
    ]
  })

  /** `change` resolves to what is said about the application: sentences without their subject. */
  function addApproval(
    name: string,
    description: string,
    status: string,
    change: (applications: Administration['applications'], clientId: string, suites: string[]) => Promise<string[]>,
  ): void {
    addCommand(applications, `${name} <client-id>`, description)
      .requiredOption('--suite <id>', 'the suite; may be repeated', collect)
      .action(async (clientId: string, options: JsonOption & { suite: string[] }) => {
        const suites = [...new Set(options.suite)]
        const sentences = await administer(terminal, async ({ applications }) => {
          const sentences = await change(applications, clientId, suites)
          warnIfManaged(terminal, options, await applications.find(clientId))
          return sentences
        })
        const result = { client_id: clientId, ...(suites.length === 1 ? { suite: suites[0] } : { suites }), status }
        const words = sentences.map((sentence) => `The application ${clientId} ${sentence}.`)
        await print(terminal, options, result, words.join('\n'))
      })
  }
}

function applicationText(application: ShownApplication): string {
  const { suites, tokens_valid_from, last_token_at, applied_at, secrets, labels, quota, ...shown } =
    shownApplicationView(application)
  const { source_addresses, public_labels, report_only, federated, ...rest } = shown
  const optional = columnsOf(application, OPTIONAL_COLUMNS)
  const values = {
    ...rest,
    suites: suites.join(', ') || 'none',
    tokens_valid_from: tokens_valid_from ?? 'the beginning',
    last_token_at: last_token_at ?? 'never',
    ...(applied_at !== null && { applied_at }),
    ...(quota !== null && { quota: `${quota} tokens an hour` }),
    source_addresses: source_addresses.join(', '),
    public_labels: public_labels.join(', '),
    only_reported: report_only.join(', '),
  }
  const others = Object.entries(values).filter(([name, value]) => value !== '' && !(name in optional))
  const all = [...others, ...Object.entries(annotationTexts(labels, optional))]
  const lines = all.map(([name, value]) => [name.replaceAll('_', ' '), value])
  return `${labelled(Object.fromEntries(lines))}\n\n${secretsTable(secrets)}`
}

function suitesText(suites: string[]): string {
  return `${suites.length === 1 ? 'suite' : 'suites'} ${suites.join(', ')}`
}

async function readSecret(terminal: Terminal, file: string): Promise<string> {
  return (await readInput(terminal, file)).replace(/\r?\n$/, '')
}

export function addTokens(program: Command, terminal: Terminal): void {
  const tokens = program.command('tokens').description("revoke an application's tokens")
  const description = 'revoke every token that was issued to an application until now'
  addCommand(tokens, 'revoke-all <client-id>', description).action(async (clientId: string, options) => {
    await administer(terminal, ({ applications }) => applications.revokeAllTokens(clientId))
    const words = `Every token that was issued to the application ${clientId} until now is revoked.`
    await print(terminal, options, { client_id: clientId, status: 'revoked' }, words)
  })
}
