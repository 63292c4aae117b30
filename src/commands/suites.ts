import { Command } from 'commander'
import type { RegisteredSuite } from '../administration/registration.ts'
import type { Suite } from '../domain/suite.ts'
import { secretRow, secretsTable } from './secrets.ts'
import { administer } from './shared/administer.ts'
import { print, type Terminal, table, timestamp, withJson } from './shared/terminal.ts'

/** `suites …`: who may ask about tokens. */
export function suitesCommand(terminal: Terminal): Command {
  const suites = new Command('suites').description('register and manage API suites')

  withJson(suites.command('register'))
    .description('register a suite and print its credentials, once')
    .argument('<id>', 'its id, the audience of tokens there')
    .requiredOption('--name <name>', 'the name of the suite')
    .action(async (suiteId: string, options: { name: string; json?: boolean }) => {
      const registered = await administer(terminal, ({ registerSuite }) =>
        registerSuite({ suiteId, name: options.name }),
      )
      print(terminal, options, registeredSuiteJson(registered), registeredSuiteWords(registered))
    })

  withJson(suites.command('list'))
    .description('list the suites')
    .action(async (options) => {
      const all = await administer(terminal, ({ listSuites }) => listSuites())
      const rows = all.map(({ suiteId, name }) => [suiteId, name])
      print(terminal, options, all.map(suiteJson), table(['suite', 'name'], rows))
    })

  withJson(suites.command('show'))
    .description('show one suite, its secrets (never the secrets themselves) and who is approved for it')
    .argument('<id>')
    .action(async (suiteId: string, options) => {
      const { suite, approved } = await administer(terminal, async ({ showSuite, list }) => ({
        suite: await showSuite(suiteId),
        approved: (await list()).filter(({ suites }) => suites.includes(suiteId)).map(({ clientId }) => clientId),
      }))
      const result = { ...suiteJson(suite), approved, secrets: suite.secrets.map(secretRow) }
      const head = `suite     ${suiteId}\nname      ${suite.name}\napproved  ${approved.join(', ') || 'nobody'}`
      print(terminal, options, result, `${head}\n\n${secretsTable(suite.secrets)}`)
    })

  withJson(suites.command('remove'))
    .description('remove a suite, its secrets and the approvals for it')
    .argument('<id>')
    .action(async (suiteId: string, options) => {
      await administer(terminal, ({ removeSuite }) => removeSuite(suiteId))
      print(terminal, options, { id: suiteId, status: 'removed' }, `The suite ${suiteId} is removed.`)
    })

  return suites
}

/** A registered suite as JSON, with its credentials: the only time that its secret is seen. */
export function registeredSuiteJson({ suiteId, clientSecret, name }: RegisteredSuite) {
  return { id: suiteId, client_id: suiteId, client_secret: clientSecret, name }
}

/** A registered suite in words. */
export function registeredSuiteWords({ suiteId, clientSecret, name }: RegisteredSuite): string {
  return [
    `${name} (suite)`,
    `  client_id      ${suiteId}`,
    `  client_secret  ${clientSecret}`,
    'The secret is shown this once and cannot be shown again.',
  ].join('\n')
}

function suiteJson(suite: Suite) {
  return { id: suite.suiteId, name: suite.name, created_at: timestamp(suite.createdAt) }
}
