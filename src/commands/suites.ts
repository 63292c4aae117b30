import type { Command } from 'commander'
import { registeredSuiteView, secretView, suiteView } from '../administration/views.ts'
import { administer, type CreateOption, createOption } from './shared/administer.ts'
import { addCommand, type JsonOption, print, printSecret, show, type Terminal } from './shared/terminal.ts'
import { labelled, registeredSuiteText, SHOWN_ONCE, secretsTable, table } from './shared/text.ts'

/** How many approved applications are named without --all. */
const MAX_NAMED = 10

export function addSuites(program: Command, terminal: Terminal): void {
  const suites = program.command('suites').description('register and manage API suites')

  addCommand(suites, 'register', 'register a suite and print its credentials, once')
    .argument('<id>', 'its id, which is the audience of tokens there')
    .requiredOption('--name <name>', 'the name of the suite')
    .addOption(createOption())
    .action(async (suiteId: string, { name, create, ...options }: CreateOption & JsonOption & { name: string }) => {
      const registered = await administer(terminal, ({ suites }) => suites.register({ suiteId, name }), { create })
      const { notApproved } = registered
      const lines = [registeredSuiteText(registered), SHOWN_ONCE]
      if (notApproved > 0) lines.push('No application is approved for it yet: "applications approve" does that.')
      const result = { ...registeredSuiteView(registered), applications_not_approved: notApproved }
      await printSecret(suiteId, terminal, options, result, lines.join('\n'))
    })

  addCommand(suites, 'update <id>', 'change the name of a suite')
    .requiredOption('--name <name>', 'its new name')
    .action(async (suiteId: string, { name, ...options }: JsonOption & { name: string }) => {
      const { suite, isChanged } = await administer(terminal, async ({ suites }) => ({
        isChanged: await suites.update(suiteId, { name }),
        suite: await suites.show(suiteId),
      }))
      const words = isChanged ? 'is updated' : 'has this name already'
      await print(terminal, options, suiteView(suite), `The suite ${suiteId} ${words}.`)
    })

  addCommand(suites, 'list', 'list the suites').action(async (options) => {
    const all = await administer(terminal, ({ suites }) => suites.list())
    const rows = all.map(({ suiteId, name }) => [suiteId, name])
    await show(terminal, options, all.map(suiteView), table(['suite', 'name'], rows))
  })

  addCommand(suites, 'show <id>', 'show one suite, its secrets (never the secrets themselves) and its approvals')
    .option('--all', 'name every approved application, however many there are')
    .action(async (suiteId: string, options: JsonOption & { all?: boolean }) => {
      const { suite, approved } = await administer(terminal, async ({ suites }) => ({
        suite: await suites.show(suiteId),
        approved: (await suites.listApproved(suiteId)).map(({ clientId }) => clientId),
      }))
      const secrets = suite.secrets.map(secretView)
      const result = { ...suiteView(suite), approved, secrets }
      const head = labelled({ suite: suiteId, name: suite.name, approved: approvedText(approved, options) })
      await show(terminal, options, result, `${head}\n\n${secretsTable(secrets)}`)
    })

  addCommand(suites, 'remove <id>', 'remove a suite, its secrets and the approvals for it').action(
    async (suiteId: string, options) => {
      await administer(terminal, ({ suites }) => suites.remove(suiteId))
      await print(terminal, options, { id: suiteId, status: 'removed' }, `The suite ${suiteId} is removed.`)
    },
  )
}

function approvedText(approved: string[], { all }: { all?: boolean }): string {
  if (approved.length === 0) return 'none'
  if (all || approved.length <= MAX_NAMED) return approved.join(', ')
  return `${approved.length} applications: ${approved.slice(0, MAX_NAMED).join(', ')} … (--all names every one)`
}
