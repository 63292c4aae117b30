import { Command } from 'commander'
import { registeredSuiteView, secretView, suiteView } from '../administration/views.ts'
import { administer } from './shared/administer.ts'
import { print, type Terminal, table, withJson } from './shared/terminal.ts'
import { registeredSuiteText, secretsTable } from './shared/words.ts'

/** `suites …`: who may ask about tokens. */
export function suitesCommand(terminal: Terminal): Command {
  const suites = new Command('suites').description('register and manage API suites')

  withJson(suites.command('register'))
    .description('register a suite and print its credentials, once')
    .argument('<id>', 'its id, the audience of tokens there')
    .requiredOption('--name <name>', 'the name of the suite')
    .action(async (suiteId: string, options: { name: string; json?: boolean }) => {
      const registered = await administer(terminal, ({ suites }) => suites.register({ suiteId, name: options.name }), {
        create: true,
      })
      print(terminal, options, registeredSuiteView(registered), registeredSuiteText(registered))
    })

  withJson(suites.command('list'))
    .description('list the suites')
    .action(async (options) => {
      const all = await administer(terminal, ({ suites }) => suites.list())
      const rows = all.map(({ suiteId, name }) => [suiteId, name])
      print(terminal, options, all.map(suiteView), table(['suite', 'name'], rows))
    })

  withJson(suites.command('show'))
    .description('show one suite, its secrets (never the secrets themselves) and who is approved for it')
    .argument('<id>')
    .action(async (suiteId: string, options) => {
      const { suite, approved } = await administer(terminal, async ({ suites }) => ({
        suite: await suites.show(suiteId),
        approved: (await suites.listApproved(suiteId)).map(({ clientId }) => clientId),
      }))
      const secrets = suite.secrets.map(secretView)
      const result = { ...suiteView(suite), approved, secrets }
      const head = `suite     ${suiteId}\nname      ${suite.name}\napproved  ${approved.join(', ') || 'nobody'}`
      print(terminal, options, result, `${head}\n\n${secretsTable(secrets)}`)
    })

  withJson(suites.command('remove'))
    .description('remove a suite, its secrets and the approvals for it')
    .argument('<id>')
    .action(async (suiteId: string, options) => {
      await administer(terminal, ({ suites }) => suites.remove(suiteId))
      print(terminal, options, { id: suiteId, status: 'removed' }, `The suite ${suiteId} is removed.`)
    })

  return suites
}
