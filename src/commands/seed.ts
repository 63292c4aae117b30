import { Command } from 'commander'
import { parseSeedFile } from '../administration/seed-file.ts'
import { registeredApplicationView, registeredSuiteView } from '../administration/views.ts'
import { administer } from './shared/administer.ts'
import { print, readInput, type Terminal, withJson } from './shared/terminal.ts'
import { registeredApplicationsText, registeredSuiteText } from './shared/words.ts'

/** `seed FILE`: registers the suites and applications of a file that are missing. */
export function seedCommand(terminal: Terminal): Command {
  return withJson(new Command('seed'))
    .description(
      'register the suites and applications of a JSON file that are missing, and print their credentials, once',
    )
    .argument('<file>', 'the file, - for standard input')
    .action(async (file: string, options) => {
      const seeds = parseSeedFile(file, await readInput(terminal, file))
      const { suites, applications } = await administer(terminal, ({ seed }) => seed(seeds), { create: true })
      const registered = suites.length + applications.length
      const existing = seeds.suites.length + seeds.applications.length - registered
      const paragraphs = suites.map(registeredSuiteText)
      if (applications.length > 0) paragraphs.push(registeredApplicationsText(applications))
      paragraphs.push(`Registered ${registered}, left ${existing} as they were.`)
      const result = {
        suites: suites.map(registeredSuiteView),
        applications: applications.map(registeredApplicationView),
        existing,
      }
      print(terminal, options, result, paragraphs.join('\n\n'))
    })
}
