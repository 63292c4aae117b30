import { Command } from 'commander'
import type { RegisteredApplication, ShownApplication } from '../administration/applications.ts'
import { listedApplicationView, registeredApplicationView, shownApplicationView } from '../administration/views.ts'
import { administer } from './shared/administer.ts'
import { print, readInput, type Terminal, table, withJson } from './shared/terminal.ts'
import { registeredApplicationsText, secretsTable } from './shared/words.ts'

interface RegisterOptions {
  name: string
  developerEmail: string
  clientId?: string
  clientSecretFile?: string
  suite?: string[]
  json?: boolean
}

/** `applications …`: who may ask for tokens. */
export function applicationsCommand(terminal: Terminal): Command {
  const applications = new Command('applications').alias('apps').description('register and manage applications')

  withJson(applications.command('register'))
    .description('register an application and print its credentials, once')
    .requiredOption('--name <name>', 'the name of the application')
    .requiredOption('--developer-email <email>', 'the contact address of its developer')
    .option('--client-id <id>', 'a client id that it has already (default: a new one)')
    .option('--client-secret-file <file>', 'a file with a secret that it has already, - for standard input')
    .option('--suite <id>', 'a suite to approve it for; may be repeated (default: every suite)', collect)
    .action(async (options: RegisterOptions) => {
      const { name, developerEmail, clientId, clientSecretFile, suite } = options
      const clientSecret = clientSecretFile === undefined ? undefined : await readSecret(terminal, clientSecretFile)
      const registered: RegisteredApplication = await administer(
        terminal,
        ({ applications }) => applications.register({ name, developerEmail, clientId, clientSecret, suites: suite }),
        { create: true },
      )
      print(terminal, options, registeredApplicationView(registered), registeredApplicationsText([registered]))
    })

  withJson(applications.command('list'))
    .description('list the applications')
    .action(async (options) => {
      const all = await administer(terminal, ({ applications }) => applications.list())
      const rows = all.map((one) => [
        one.clientId,
        one.name,
        one.developerEmail,
        one.status,
        `${one.tokensThisHour} (${one.tokensLastHour})`,
      ])
      const words = table(['client id', 'name', 'developer email', 'status', 'tokens this hour (last)'], rows)
      print(terminal, options, all.map(listedApplicationView), words)
    })

  withJson(applications.command('show'))
    .description('show one application and its secrets (never the secrets themselves)')
    .argument('<client-id>')
    .action(async (clientId: string, options) => {
      const application = await administer(terminal, ({ applications }) => applications.show(clientId))
      print(terminal, options, shownApplicationView(application), applicationText(application))
    })

  addApproval('approve', "make an application's tokens valid at a suite", 'approved', 'is approved for the suite')
  addApproval('withdraw', 'undo approve', 'withdrawn', 'is no longer approved for the suite')
  addChange('suspend', 'issue no more tokens to an application, and make its tokens inactive', 'suspended')
  addChange('resume', 'undo suspend', 'active')
  addChange('remove', 'remove an application, its secrets and its tokens', 'removed')
  return applications

  function addApproval(name: 'approve' | 'withdraw', description: string, status: string, words: string): void {
    withJson(applications.command(name))
      .description(description)
      .argument('<client-id>')
      .requiredOption('--suite <id>', 'the suite')
      .action(async (clientId: string, options: { suite: string; json?: boolean }) => {
        const { suite } = options
        await administer(terminal, ({ applications }) => applications[name](clientId, suite))
        const result = { client_id: clientId, suite, status }
        print(terminal, options, result, `The application ${clientId} ${words} ${suite}.`)
      })
  }

  function addChange(name: 'suspend' | 'resume' | 'remove', description: string, status: string): void {
    withJson(applications.command(name))
      .description(description)
      .argument('<client-id>')
      .action(async (clientId: string, options) => {
        await administer(terminal, ({ applications }) => applications[name](clientId))
        print(terminal, options, { client_id: clientId, status }, `The application ${clientId} is ${status}.`)
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

/** The values of an option that may be repeated. */
function collect(value: string, values: string[] = []): string[] {
  return [...values, value]
}

async function readSecret(terminal: Terminal, file: string): Promise<string> {
  return (await readInput(terminal, file)).replace(/\r?\n$/, '')
}
