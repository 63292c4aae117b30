import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { startShell } from '../support/shell.ts'
import type { Entries } from './lists.ts'

/** What docs/operations/commands.md, which is made of the help, says of each command. */
export function helpOf(page: string): Entries {
  const groups = [...page.matchAll(/`(\w+)` is short for `(\w+)`/g)].map(([, short, long]) => [
    long,
    [`alias ${short}`],
  ])
  const rows = [...page.matchAll(/^\| `([a-z][^`]*)` \| .+? \| (.*) \|$/gm)]
  const commands = rows.map(([, usage = '', cell = '']) => {
    const [name = ''] = usage.split(/ [<[]/)
    const options = [...cell.replaceAll('\\|', '|').matchAll(/`([^`]+)`: (.*?)(?=<br>`|<br>no |$)/g)]
    const needed = options.filter(([, , text]) => text?.endsWith('(required)')).map(([, term]) => term as string)
    return [
      name,
      [
        `needs ${[...(usage.match(/<[^>]+>/g) ?? []), ...needed].join(', ') || 'nothing'}`,
        ...(usage.match(/\[[^\]]+\]/g) ?? []),
        ...options.flatMap(([, term = '', text = '']) => (term.startsWith('--') ? optionFacts(term, text) : [])),
        ...(cell.endsWith('no `--json`') ? [] : ['--json']),
      ],
    ]
  })
  return Object.fromEntries([...groups, ...commands])
}

/** An option, its default and its choices. */
function optionFacts(term: string, text: string): string[] {
  const [, byDefault] = /\(default: ([^)]+)\)/.exec(text) ?? []
  const [, choices = ''] = /\(choices: ([^)]+)\)/.exec(text) ?? []
  const values = [...choices.matchAll(/"([^"]+)"/g)].map(([, value]) => `${term} ${value}`)
  return [byDefault === undefined ? term : `${term} = ${byDefault}`, ...values]
}

const ENTRY = {
  suites: [{ id: 'orders', name: 'Orders' }],
  applications: [{ name: 'A', developer_email: 'a@b.example' }],
}

const FILES: Record<string, string> = {
  'seed.json': JSON.stringify(ENTRY),
  'apply.yaml': 'suites: [{ id: stock, name: Stock }]\napplications: [{ client_id: a, note: b, labels: { k: v } }]',
  secret: 'EXAMPLE-of-a-legacy-secret',
}

/** These run one after another on one database; FOLDER has FILES. */
const RUNS = `
version
migrate
seed FOLDER/seed.json --dry-run
seed FOLDER/seed.json
suites register s --name S --label k=v
suites update s --name T
suites list
applications register --name A --developer-email a@b.example --client-id a --suite s --quota 5 --note n
applications update a --name B
applications list
applications show a
applications withdraw a --suite s
applications approve a --suite s
applications add-secret a --client-secret-file FOLDER/secret
applications suspend a
applications resume a
suites show s
secrets list a
secrets rotate a
secrets revoke a 5
secrets revoke a 99
tokens revoke-all a
apply FOLDER/apply.yaml --dry-run
apply FOLDER/apply.yaml
apply FOLDER/apply.yaml --yes --secrets-to FOLDER/new
apply FOLDER/apply.yaml --nonsense
why a
federated add a --issuer https://issuer.example --subject s
federated list a
federated test a --token-file FOLDER/secret
federated remove a 8
export
audit head
audit verify
notices test
operators add anna --role admin
operators key anna --expires 1d
operators list
console anna
operators sessions
operators revoke-key anna 1
operators end-session anna 1
operators remove anna
audit list
audit list --nonsense
applications remove a
suites remove s
backup FOLDER/backup.db
restore FOLDER/backup.db
store reopen
store copy --to nowhere
doctor
healthcheck
init --yes --settings FOLDER/settings.env --data FOLDER/data --public-url https://auth.example --operator anna`

/** The exit status of commands, if it is not 0, and the fields that they print with --json. */
export async function outputs(t: Test): Promise<Entries> {
  const { folder, env, run } = await startShell(t)
  const files = join(folder, 'files')
  mkdirSync(files)
  for (const [name, content] of Object.entries(FILES)) writeFileSync(join(files, name), content)
  // No server listens there.
  const settings = { ...env, PORT: '1', ADMIN_ADDRESS: '127.0.0.1:2' }
  const found: Entries = {}
  for (const command of RUNS.trim().split('\n')) {
    const { status, out, err } = await run(`${command.replaceAll('FOLDER', files)} --json`, { env: settings })
    const lines = out === '' ? err.trim().split('\n') : [out]
    const fields = lines.flatMap((line) => fieldsOf(JSON.parse(line)))
    found[`$ ${command}`] = [...(status === 0 ? [] : [`exit ${status}`]), ...known(fields)]
  }
  return found
}

/** Each field in a JSON value, with its type: `a[].b: string`. */
function fieldsOf(value: unknown, path = ''): string[] {
  if (Array.isArray(value)) return [`${path}[]`, ...value.flatMap((one) => fieldsOf(one, `${path}[]`))]
  if (value === null || typeof value !== 'object') return [`${path}: ${value === null ? 'null' : typeof value}`]
  const entries = Object.entries(value)
  return entries.flatMap(([name, one]) => fieldsOf(one, path === '' ? name : `${path}.${name}`))
}

/** Without `null` where another entry of a list has a value. */
function known(fields: string[]): string[] {
  const names = fields.filter((field) => !field.endsWith(': null')).map((field) => field.split(': ')[0])
  return fields.filter((field) => !field.endsWith(': null') || !names.includes(field.split(': ')[0]))
}
