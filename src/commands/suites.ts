import { Command } from 'commander'
import { registeredSuiteView, secretView, suiteView } from '../administration/views.ts'
import { administer, type CreateOption, createOption } from './shared/administer.ts'
import { type JsonOption, print, printSecret, show, type Terminal, withJson } from './shared/terminal.ts'
import { registeredSuiteText, SHOWN_ONCE, secretsTable, table } from './shared/text.ts'

/** So many of the applications that are approved for a suite are named. */
const NAMED = 10

/** `suites …`: who may ask about tokens. */
export function suitesCommand(terminal: Terminal): Command {
  const suites = new Command('suites').description('register and manage API suites')

  withJson(suites.command('register'))
    .description('register a suite and print its credentials, once')
    .argument('<id>', 'its id, the audience of tokens there')
    .requiredOption('--name <name>', 'the name of the suite')
    .addOption(createOption())
    .action(async (suiteId: string, { name, create, ...options }: CreateOption & JsonOption & { name: string }) => {
      const registered = await administer(terminal, ({ suites }) => suites.register({ suiteId, name }), { create })
      const { notApproved } = registered
      const lines = [registeredSuiteText(registered), SHOWN_ONCE]
      if (notApproved > 0) lines.push(`Applications that are not approved for it: ${notApproved}, which is all.`)
      const result = { ...registeredSuiteView(registered), applications_not_approved: notApproved }
      await printSecret(suiteId, terminal, options, result, lines.join('\n'))
    })

  withJson(suites.command('update'))
    .description('change the name of a suite')
    .argument('<id>')
    .requiredOption('--name <name>', 'its new name')
    .action(async (suiteId: string, { name, ...options }: JsonOption & { name: string }) => {
      const { suite, isChanged } = await administer(terminal, async ({ suites }) => ({
        isChanged: await suites.update(suiteId, { name }),
        suite: await suites.show(suiteId),
      }))
      const words = isChanged ? 'is updated' : 'is as it was'
      await print(terminal, options, suiteView(suite), `The suite ${suiteId} ${words}.`)
    })

  withJson(suites.command('list'))
    .description('list the suites')
    .action(async (options) => {
      const all = await administer(terminal, ({ suites }) => suites.list())
      const rows = all.map(({ suiteId, name }) => [suiteId, name])
      await show(terminal, options, all.map(suiteView), table(['suite', 'name'], rows))
    })

  withJson(suites.command('show'))
    .description('show one suite, its secrets (never the secrets themselves) and who is approved for it')
    .argument('<id>')
    .option('--all', 'name every application that is approved, however many there are')
    .action(async (suiteId: string, options: JsonOption & { all?: boolean }) => {
      const { suite, approved } = await administer(terminal, async ({ suites }) => ({
        suite: await suites.show(suiteId),
        approved: (await suites.listApproved(suiteId)).map(({ clientId }) => clientId),
      }))
      const secrets = suite.secrets.map(secretView)
      const result = { ...suiteView(suite), approved, secrets }
      const head = `suite     ${suiteId}\nname      ${suite.name}\napproved  ${approvedText(approved, options)}`
      await show(terminal, options, result, `${head}\n\n${secretsTable(secrets)}`)
    })

  withJson(suites.command('remove'))
    .description('remove a suite, its secrets and the approvals for it')
    .argument('<id>')
    .action(async (suiteId: string, options) => {
      await administer(terminal, ({ suites }) => suites.remove(suiteId))
      await print(terminal, options, { id: suiteId, status: 'removed' }, `The suite ${suiteId} is removed.`)
    })

  return suites
}

function approvedText(approved: string[], { all }: { all?: boolean }): string {
  if (approved.length === 0) return 'nobody'
  if (all || approved.length <= NAMED) return approved.join(', ')
  return `${approved.length} applications: ${approved.slice(0, NAMED).join(', ')} … (--all names every one)`
}
