import { Command } from 'commander'
import type { Registered } from '../issuer/administration.ts'
import type { Application } from '../issuer/application.ts'
import { administer } from './administer.ts'
import { secretRow, secretsTable } from './secrets.ts'
import { print, readInput, type Terminal, table, timestamp, withJson } from './terminal.ts'

interface RegisterOptions {
  name: string
  developerEmail: string
  clientId?: string
  clientSecretFile?: string
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
    .action(async (options: RegisterOptions) => {
      const { name, developerEmail, clientId, clientSecretFile } = options
      const clientSecret = clientSecretFile === undefined ? undefined : await readSecret(terminal, clientSecretFile)
      const registered = await administer(terminal, ({ register }) =>
        register({ name, developerEmail, clientId, clientSecret }),
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

  changing(applications, 'suspend', 'refuse tokens to an application, and its tokens to everyone', 'suspended')
  changing(applications, 'resume', 'undo suspend', 'active')
  changing(applications, 'remove', 'remove an application, its secrets and its tokens', 'removed')
  return applications

  function changing(parent: Command, name: 'suspend' | 'resume' | 'remove', description: string, status: string): void {
    withJson(parent.command(name))
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
    created_at: timestamp(application.createdAt),
    tokens_valid_from: application.tokensValidFrom === 0 ? null : timestamp(application.tokensValidFrom),
  }
}

function applicationWords(application: Application): string {
  const lines = Object.entries(applicationJson(application)).map(
    ([name, value]) => `${name.replaceAll('_', ' ').padEnd(18)} ${value ?? 'the beginning'}`,
  )
  return `${lines.join('\n')}\n\n${secretsTable(application.secrets)}`
}

async function readSecret(terminal: Terminal, file: string): Promise<string> {
  return (await readInput(terminal, file)).replace(/\r?\n$/, '')
}
