import type { Command } from 'commander'
import { optionalSuiteFields } from '../administration/rules.ts'
import { registeredSuiteView, secretView, suiteView } from '../administration/views.ts'
import { labelTexts } from '../domain/application.ts'
import { administer, type CreateOption, createOption } from './shared/administer.ts'
import {
  type AnnotationOptions,
  addAnnotations,
  addLabelFilter,
  annotated,
  annotationTexts,
  completeUpdate,
  warnIfManaged,
} from './shared/annotations.ts'
import { addCommand, type JsonOption, print, printSecret, show, type Terminal } from './shared/terminal.ts'
import { labelled, registeredSuiteText, SHOWN_ONCE, secretsTable, table } from './shared/text.ts'

/** How many approved applications are listed without --all. */
const MAX_NAMED = 10

type RegisterOptions = CreateOption & JsonOption & AnnotationOptions & { name: string; url?: string }

export function addSuites(program: Command, terminal: Terminal): void {
  const suites = program.command('suites').description('register and manage API suites')

  const register = addCommand(suites, 'register', 'register a suite, and print its credentials once')
    .argument('<id>', 'its id, which is the audience of tokens there')
    .requiredOption('--name <name>', 'the name of the suite')
  addAnnotations(register, optionalSuiteFields)
    .addOption(createOption())
    .action(async (suiteId: string, { create, ...options }: RegisterOptions) => {
      const values = { ...annotated(options), suiteId }
      const registered = await administer(terminal, ({ suites }) => suites.register(values), { create })
      const { notApproved } = registered
      const lines = [registeredSuiteText(registered), SHOWN_ONCE]
      if (notApproved > 0) lines.push('No application is approved for it yet: "applications approve" does that.')
      const result = { ...registeredSuiteView(registered), applications_not_approved: notApproved }
      await printSecret(suiteId, terminal, options, result, lines.join('\n'))
    })

  const update = addCommand(suites, 'update <id>', 'change the name or other fields of a suite')
  addAnnotations(update.option('--name <name>', 'its new name'), optionalSuiteFields)
  completeUpdate(update, terminal, 'suite', ({ suites }) => suites, suiteView)

  addLabelFilter(addCommand(suites, 'list', 'list the suites')).action(
    async ({ label, ...options }: JsonOption & { label?: string[] }) => {
      const all = await administer(terminal, ({ suites }) => suites.list({ labels: label }))
      const rows = all.map(({ suiteId, name, labels }) => [suiteId, name, labelTexts(labels).join(', ')])
      await show(terminal, options, all.map(suiteView), table(['suite', 'name', 'labels'], rows))
    },
  )

  addCommand(suites, 'show <id>', 'show one suite, its secrets (never the secrets themselves) and its approvals')
    .option('--all', 'list every approved application, however many there are')
    .action(async (suiteId: string, options: JsonOption & { all?: boolean }) => {
      const { suite, approved } = await administer(terminal, async ({ suites }) => ({
        suite: await suites.show(suiteId),
        approved: (await suites.listApproved(suiteId)).map(({ clientId }) => clientId),
      }))
      const secrets = suite.secrets.map(secretView)
      const result = { ...suiteView(suite), approved, secrets }
      const head = labelled({
        suite: suiteId,
        name: suite.name,
        approved: approvedText(approved, options),
        ...annotationTexts(suite.labels, { URL: suite.url, note: suite.note, 'managed by': suite.managedBy }),
      })
      await show(terminal, options, result, `${head}\n\n${secretsTable(secrets)}`)
    })

  addCommand(suites, 'remove <id>', 'remove a suite, its secrets and the approvals for it').action(
    async (suiteId: string, options) => {
      await administer(terminal, async ({ suites }) => {
        const found = await suites.find(suiteId)
        await suites.remove(suiteId)
        warnIfManaged(terminal, options, found)
      })
      await print(terminal, options, { id: suiteId, status: 'removed' }, `The suite ${suiteId} is removed.`)
    },
  )
}

function approvedText(approved: string[], { all }: { all?: boolean }): string {
  if (approved.length === 0) return 'none'
  if (all || approved.length <= MAX_NAMED) return approved.join(', ')
  return `${approved.length} applications: ${approved.slice(0, MAX_NAMED).join(', ')} … (--all names every one)`
}
