import { Command } from 'commander'
import type { Registered } from '../administration/registration.ts'
import type { Application } from '../domain/application.ts'
import { secretRow, secretsTable } from './secrets.ts'
import { administer } from './shared/administer.ts'
import { print, readInput, type Terminal, table, timestamp, withJson } from './shared/terminal.ts'

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
    .option('--suite <id>', 'a suite that its tokens shall be good at; may be repeated (default: every one)', collect)
    .action(async (options: RegisterOptions) => {
      const { name, developerEmail, clientId, clientSecretFile, suite } = options
      const clientSecret = clientSecretFile === undefined ? undefined : await readSecret(terminal, clientSecretFile)
      const registered = await administer(terminal, ({ register }) =>
        register({ name, developerEmail, clientId, clientSecret, suites: suite }),
      )
      print(terminal, options, registeredJson(registered), registeredWords([registered]))
    })

  withJson(applications.command('list'))
    .description('list the applications')
    .action(async (options) => {
      const all = await administer(terminal, ({ list }) => list())
      const rows = all.map((one) => [one.clientId, one.name, one.developerEmail, one.status])
      print(
        terminal,
        options,
        all.map(applicationJson),
        table(['client id', 'name', 'developer email', 'status'], rows),
      )
    })

  withJson(applications.command('show'))
    .description('show one application and its secrets (never the secrets themselves)')
    .argument('<client-id>')
    .action(async (clientId: string, options) => {
      const application = await administer(terminal, ({ show }) => show(clientId))
      const result = { ...applicationJson(application), secrets: application.secrets.map(secretRow) }
      print(terminal, options, result, applicationWords(application))
    })

  approving('approve', "make an application's tokens good at a suite", 'approved')
  approving('withdraw', 'undo approve', 'withdrawn')
  changing('suspend', 'refuse tokens to an application, and its tokens to everyone', 'suspended')
  changing('resume', 'undo suspend', 'active')
  changing('remove', 'remove an application, its secrets and its tokens', 'removed')
  return applications

  function approving(name: 'approve' | 'withdraw', description: string, status: string): void {
    withJson(applications.command(name))
      .description(description)
      .argument('<client-id>')
      .requiredOption('--suite <id>', 'the suite')
      .action(async (clientId: string, options: { suite: string; json?: boolean }) => {
        const { suite } = options
        await administer(terminal, (administration) => administration[name](clientId, suite))
        const words = `The application ${clientId} is ${status} for the suite ${suite}.`
        print(terminal, options, { client_id: clientId, suite, status }, words)
      })
  }

  function changing(name: 'suspend' | 'resume' | 'remove', description: string, status: string): void {
    withJson(applications.command(name))
      .description(description)
      .argument('<client-id>')
      .action(async (clientId: string, options) => {
        await administer(terminal, (administration) => administration[name](clientId))
        print(terminal, options, { client_id: clientId, status }, `The application ${clientId} is ${status}.`)
      })
  }
}

/** A registered application as JSON. The secret is there once, at its birth, if it was generated. */
export function registeredJson({ clientId, clientSecret, name, developerEmail }: Registered) {
  return {
    client_id: clientId,
    ...(clientSecret !== undefined && { client_secret: clientSecret }),
    name,
    developer_email: developerEmail,
    status: 'active',
  }
}

/** Registered applications in words. */
export function registeredWords(all: Registered[]): string {
  const paragraphs = all.map(({ clientId, clientSecret, name, developerEmail }) =>
    [
      `${name} (${developerEmail})`,
      `  client_id      ${clientId}`,
      `  client_secret  ${clientSecret ?? 'the one that you brought along'}`,
    ].join('\n'),
  )
  const generated = all.some(({ clientSecret }) => clientSecret !== undefined)
  if (generated) paragraphs.push('A generated secret is shown this once and cannot be shown again.')
  return paragraphs.join('\n\n')
}

function applicationJson(application: Application) {
  return {
    client_id: application.clientId,
    name: application.name,
    developer_email: application.developerEmail,
    status: application.status,
    suites: application.suites,
    created_at: timestamp(application.createdAt),
    tokens_valid_from: application.tokensValidFrom === 0 ? null : timestamp(application.tokensValidFrom),
  }
}

function applicationWords(application: Application): string {
  const { suites, tokens_valid_from, ...rest } = applicationJson(application)
  const shown = {
    ...rest,
    suites: suites.join(', ') || 'none',
    tokens_valid_from: tokens_valid_from ?? 'the beginning',
  }
  const lines = Object.entries(shown).map(([name, value]) => `${name.replaceAll('_', ' ').padEnd(18)} ${value}`)
  return `${lines.join('\n')}\n\n${secretsTable(application.secrets)}`
}

/** The values of an option that may be repeated. */
function collect(value: string, values: string[] = []): string[] {
  return [...values, value]
}

async function readSecret(terminal: Terminal, file: string): Promise<string> {
  return (await readInput(terminal, file)).replace(/\r?\n$/, '')
}
