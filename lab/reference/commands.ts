import { main } from '../../src/commands/program.ts'

const INTRODUCTION = `# Commands

<!-- Written by \`npm run docs\` from what the commands print with --help. Do not edit. -->

Every command, with its arguments and options. How to run commands, where, and what they print:
[Administration](administration.md#running-commands). Besides the options below, every command takes \`--help\`, and
\`--json\` unless its row says otherwise.
`

/** What a command prints with `--help`, taken apart. */
interface CommandHelp {
  usage: string
  description: string
  lists: { Arguments?: Entry[]; Options: Entry[]; Commands?: Entry[] }
}

type Entry = [term: string, description: string]

/** docs/operations/commands.md: a table of the commands without subcommands, then one for each group. */
export async function commandsPage(): Promise<string> {
  const names = await subcommands([])
  const children = await Promise.all(names.map((name) => subcommands([name])))
  const groups = names.filter((_, n) => children[n]?.length)
  const single = names.filter((name) => !groups.includes(name))
  const sections = await Promise.all(
    groups.map(async (group) => {
      const { usage, description } = await helpOf([group])
      const [, alias] = /^\S+ \w+\|(\w+)/.exec(usage) ?? []
      const short = alias === undefined ? '' : ` \`${alias}\` is short for \`${group}\`.`
      return `## ${group}\n\n${sentence(description)}${short}\n\n${await table([group], await subcommands([group]))}`
    }),
  )
  return [INTRODUCTION, `## Server, store and diagnosis\n\n${await table([], single)}`, ...sections].join('\n')
}

/** The names of a command's subcommands; none where it has none. */
export async function subcommands(path: string[]): Promise<string[]> {
  const { lists } = await helpOf(path)
  const names = (lists.Commands ?? []).map(([term]) => term.replace(/[^\w-].*/, ''))
  return names.filter((name) => name !== 'help')
}

async function table(path: string[], names: string[]): Promise<string> {
  const rows = await Promise.all(names.map((name) => row([...path, name])))
  return ['| command | what it does | arguments and options |', '|---|---|---|', ...rows, ''].join('\n')
}

async function row(path: string[]): Promise<string> {
  const { usage, description, lists } = await helpOf(path)
  const options = lists.Options.filter(([term]) => !/--(help|json)$/.test(term))
  const terms = [...(lists.Arguments ?? []), ...options].map(([term, text]) => `\`${term}\`: ${text}`)
  const hasJson = lists.Options.some(([term]) => term === '--json')
  const cell = [...terms, ...(hasJson ? [] : ['no `--json`'])].join('<br>')
  const command = usage.replace('token-server ', '').replace(/\|\w+| \[options\]/g, '')
  return `| ${[`\`${command}\``, sentence(description), cell].map((text) => text.replaceAll('|', '\\|')).join(' | ')} |`
}

/** Asks a command for its help, and takes it apart: commander wraps and indents it by fixed rules. */
export async function helpOf(path: string[]): Promise<CommandHelp> {
  let text = ''
  const stdout = { write: (data: string | Uint8Array) => (text += data) }
  await main([...path, '--help'], { env: {}, stdin: process.stdin, stdout, stderr: stdout })
  const [usage = '', description = '', ...lists] = text.trimEnd().split('\n\n')
  return {
    usage: unwrapped(usage).replace(/^Usage: /, ''),
    description: unwrapped(description),
    lists: Object.fromEntries(
      lists.map((list) => {
        const [title = '', ...entries] = list.split(/\n(?= {2}\S)/)
        return [title.replace(':', ''), entries.map(termAndDescription)]
      }),
    ) as unknown as CommandHelp['lists'],
  }
}

function termAndDescription(entry: string): Entry {
  const text = entry.trim()
  const end = text.search(/ {2,}/)
  return [text.slice(0, end), unwrapped(text.slice(end))]
}

const unwrapped = (text: string) => text.replace(/\s+/g, ' ').trim()

const sentence = (text: string) => `${text.charAt(0).toUpperCase()}${text.slice(1).replace(/\.$/, '')}.`
