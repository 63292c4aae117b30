import { Command, Option } from 'commander'
import type { Administration } from '../administration/administration.ts'
import type { ShownApplication } from '../administration/applications.ts'
import type { SearchFilter } from '../administration/search.ts'
import { listedApplicationView, registeredApplicationView, shownApplicationView } from '../administration/views.ts'
import { administer, type CreateOption, createOption } from './shared/administer.ts'
import {
  type JsonOption,
  print,
  printSecret,
  readInput,
  say,
  show,
  type Terminal,
  withJson,
} from './shared/terminal.ts'
import { number, registeredApplicationText, SHOWN_ONCE, secretsTable, table } from './shared/text.ts'

const WITHOUT_SUITES =
  'It is approved for no suite, so its tokens are valid nowhere: applications approve CLIENT_ID --suite ID.'

interface RegisterOptions extends CreateOption, JsonOption {
  name: string
  developerEmail: string
  clientId?: string
  clientSecretFile?: string
  suite?: string[]
}

interface UpdateOptions extends JsonOption {
  name?: string
  developerEmail?: string
}

interface ListOptions extends Pick<SearchFilter, 'status'> {
  search?: string
  limit?: number
}

/** `applications …`: who may ask for tokens. */
export function applicationsCommand(terminal: Terminal): Command {
  const applications = new Command('applications').alias('apps').description('register and manage applications')
  addRegister(applications, terminal)
  addUpdates(applications, terminal)
  addLists(applications, terminal)
  addApprovals(applications, terminal)
  for (const [name, description, status] of CHANGES) {
    withJson(applications.command(name))
      .description(description)
      .argument('<client-id>')
      .action(async (clientId: string, options) => {
        await administer(terminal, ({ applications }) => applications[name](clientId))
        await print(terminal, options, { client_id: clientId, status }, `The application ${clientId} is ${status}.`)
      })
  }
  return applications
}

const CHANGES = [
  ['suspend', 'issue no more tokens to an application, and make its tokens inactive', 'suspended'],
  ['resume', 'undo suspend', 'active'],
  ['remove', 'remove an application, its secrets and its tokens', 'removed'],
] as const

function addRegister(applications: Command, terminal: Terminal): void {
  withJson(applications.command('register'))
    .description('register an application and print its credentials, once')
    .requiredOption('--name <name>', 'the name of the application')
    .requiredOption('--developer-email <email>', 'the contact address of its developer')
    .option('--client-id <id>', 'a client id that it has already (default: a new one)')
    .option('--client-secret-file <file>', 'a file with a secret that it has already, - for standard input')
    .option('--suite <id>', 'a suite to approve it for; may be repeated (default: every suite)', collect)
    .addOption(createOption())
    .action(async (options: RegisterOptions) => {
      const { name, developerEmail, clientId, clientSecretFile, suite, create } = options
      const clientSecret = clientSecretFile === undefined ? undefined : await readSecret(terminal, clientSecretFile)
      const registered = await administer(
        terminal,
        ({ applications }) => applications.register({ name, developerEmail, clientId, clientSecret, suites: suite }),
        { create },
      )
      const { suites } = registered
      const text = `${registeredApplicationText(registered)}\n  suites         ${suites.join(', ') || 'none'}`
      const words = clientSecret === undefined ? `${text}\n\n${SHOWN_ONCE}` : text
      const result = { ...registeredApplicationView(registered), suites }
      if (clientSecret === undefined) await printSecret(registered.clientId, terminal, options, result, words)
      else await print(terminal, options, result, words)
      if (suites.length === 0) say(terminal, options, 'warning', WITHOUT_SUITES)
    })
}

function addUpdates(applications: Command, terminal: Terminal): void {
  withJson(applications.command('update'))
    .description('change the name or the developer email of an application, or both')
    .argument('<client-id>')
    .option('--name <name>', 'its new name')
    .option('--developer-email <email>', 'the new contact address of its developer')
    .action(async (clientId: string, options: UpdateOptions, command: Command) => {
      const { name, developerEmail } = options
      if (name === undefined && developerEmail === undefined) {
        command.error('error: --name or --developer-email is required')
      }
      const { application, isChanged } = await administer(terminal, async ({ applications }) => ({
        isChanged: await applications.update(clientId, { name, developerEmail }),
        application: await applications.show(clientId),
      }))
      const words = `The application ${clientId} ${isChanged ? 'is updated' : 'is as it was'}.`
      await print(terminal, options, shownApplicationView(application), words)
    })

  withJson(applications.command('add-secret'))
    .description('give an application another secret that it has already; its others stay as they are')
    .argument('<client-id>')
    .requiredOption('--client-secret-file <file>', 'a file with the secret, - for standard input')
    .action(async (clientId: string, options: JsonOption & { clientSecretFile: string }) => {
      const clientSecret = await readSecret(terminal, options.clientSecretFile)
      await administer(terminal, ({ applications }) => applications.addSecret(clientId, clientSecret))
      const result = { client_id: clientId, status: 'added' }
      await print(terminal, options, result, `The secret is added to ${clientId}; its others stay as they are.`)
    })
}

function addLists(applications: Command, terminal: Terminal): void {
  withJson(applications.command('list'))
    .description('list the applications')
    .option('--search <text>', 'only those that have this text in their client id, name or developer email')
    .addOption(new Option('--status <status>', 'only those with this status').choices(['active', 'suspended']))
    .option(
      '--limit <number>',
      'only this many, the newest',
      number(/^[1-9]\d{0,8}$/, 'It must be a whole number above 0.'),
    )
    .action(async ({ search, status, limit, ...options }: JsonOption & ListOptions) => {
      const all = await administer(terminal, ({ applications }) => applications.list({ text: search, status, limit }))
      const rows = all.map((one) => [
        one.clientId,
        one.name,
        one.developerEmail,
        one.status,
        `${one.tokensThisHour} (${one.tokensLastHour})`,
      ])
      const words = table(['client id', 'name', 'developer email', 'status', 'tokens this hour (last)'], rows)
      await show(terminal, options, all.map(listedApplicationView), words)
    })

  withJson(applications.command('show'))
    .description('show one application and its secrets (never the secrets themselves)')
    .argument('<client-id>')
    .action(async (clientId: string, options) => {
      const application = await administer(terminal, ({ applications }) => applications.show(clientId))
      await show(terminal, options, shownApplicationView(application), applicationText(application))
    })
}

function addApprovals(applications: Command, terminal: Terminal): void {
  addApproval(
    "make an application's tokens valid at a suite",
    'approve',
    'approved',
    async (applications, id, suites) => {
      await applications.approve(id, ...suites)
      return [`is approved for the ${suitesText(suites)}`]
    },
  )
  addApproval('undo approve', 'withdraw', 'withdrawn', async (applications, id, suites) => {
    const withdrawn = await applications.withdraw(id, ...suites)
    const others = suites.filter((suite) => !withdrawn.includes(suite))
    return [
      ...(withdrawn.length > 0 ? [`is no longer approved for the ${suitesText(withdrawn)}`] : []),
      ...(others.length > 0 ? [`was not approved for the ${suitesText(others)}`] : []),
    ]
  })

  /** `change`: resolves to what is said of the application. */
  function addApproval(
    description: string,
    name: string,
    status: string,
    change: (applications: Administration['applications'], clientId: string, suites: string[]) => Promise<string[]>,
  ): void {
    withJson(applications.command(name))
      .description(description)
      .argument('<client-id>')
      .requiredOption('--suite <id>', 'the suite; may be repeated', collect)
      .action(async (clientId: string, options: JsonOption & { suite: string[] }) => {
        const suites = [...new Set(options.suite)]
        const sentences = await administer(terminal, ({ applications }) => change(applications, clientId, suites))
        const result = { client_id: clientId, ...(suites.length === 1 ? { suite: suites[0] } : { suites }), status }
        const words = sentences.map((sentence) => `The application ${clientId} ${sentence}.`)
        await print(terminal, options, result, words.join('\n'))
      })
  }
}

function applicationText(application: ShownApplication): string {
  const { suites, tokens_valid_from, last_token_at, secrets, ...rest } = shownApplicationView(application)
  const shown = {
    ...rest,
    suites: suites.join(', ') || 'none',
    tokens_valid_from: tokens_valid_from ?? 'the beginning',
    last_token_at: last_token_at ?? 'never',
  }
  const lines = Object.entries(shown).map(([name, value]) => `${name.replaceAll('_', ' ').padEnd(18)} ${value}`)
  return `${lines.join('\n')}\n\n${secretsTable(secrets)}`
}

function suitesText(suites: string[]): string {
  return `${suites.length === 1 ? 'suite' : 'suites'} ${suites.join(', ')}`
}

/** The values of an option that may be repeated. */
function collect(value: string, values: string[] = []): string[] {
  return [...values, value]
}

async function readSecret(terminal: Terminal, file: string): Promise<string> {
  return (await readInput(terminal, file)).replace(/\r?\n$/, '')
}

/** `tokens …`: what was issued. */
export function tokensCommand(terminal: Terminal): Command {
  const tokens = new Command('tokens').description("revoke an application's tokens")

  withJson(tokens.command('revoke-all'))
    .description('revoke every token that the application was issued until now')
    .argument('<client-id>')
    .action(async (clientId: string, options) => {
      await administer(terminal, ({ applications }) => applications.revokeAllTokens(clientId))
      const words = `Every token that the application ${clientId} was issued until now is revoked.`
      await print(terminal, options, { client_id: clientId, status: 'revoked' }, words)
    })

  return tokens
}
