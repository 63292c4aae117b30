import { VERSION } from '../../../src/version.ts'
import { helpOf, subcommands } from '../../reference/commands.ts'

/** Prints the manual page of the package for Debian, from what the commands print with --help. */

const escaped = (text: string) => text.replaceAll('\\', '\\e').replaceAll('-', '\\-').replace(/^[.']/, '\\&$&')

const entries = (list: [term: string, description: string][] = []) =>
  list.flatMap(([term, description]) => ['.TP', `.B ${escaped(term)}`, escaped(description)])

/** The section of a command, or those of its subcommands. */
async function sectionsOf(path: string[]): Promise<string[]> {
  const names = await subcommands(path)
  if (names.length > 0) return (await Promise.all(names.map((name) => sectionsOf([...path, name])))).flat()
  const { usage, description, lists } = await helpOf(path)
  const options = lists.Options.filter(([term]) => !/--(help|json)$/.test(term))
  return [`.SS ${escaped(usage)}`, escaped(description), ...entries(lists.Arguments), ...entries(options)]
}

const { description } = await helpOf([])
const date = new Date(Number(process.env.SOURCE_DATE_EPOCH) * 1000).toISOString().slice(0, 10)
const page = [
  `.TH TOKEN\\-SERVER 8 ${date} "token\\-server ${VERSION}"`,
  '.SH NAME',
  `token\\-server \\- ${escaped(description.replace(/\.$/, ''))}`,
  '.SH SYNOPSIS',
  '.B token\\-server',
  '.I command',
  '.RI [ argument ...]',
  '.SH DESCRIPTION',
  'Runs a command as the user of the service, with its settings and its database. Only root may. Every command takes',
  '.BR \\-\\-help ,',
  'and most take',
  '.BR \\-\\-json .',
  '.SH COMMANDS',
  ...(await sectionsOf([])),
  '.SH FILES',
  ...entries([
    ['/etc/token-server/settings.env', 'the settings'],
    ['/var/lib/token-server', 'the SQLite database'],
    ['/var/lib/token-server-backups', 'its backups'],
    ['/usr/share/doc/token-server/docs', 'the documents: where each setting and each command is explained'],
  ]),
  '.SH SEE ALSO',
  '.BR systemctl (1),',
  '.BR journalctl (1)',
]
process.stdout.write(`${page.join('\n')}\n`)
