import type { Command } from 'commander'
import { databaseRegistry } from '../administration/apply.ts'
import { exportOf, yamlOf } from '../administration/export.ts'
import { addServerOptions, type ServerOptions, serverOf } from './apply-server.ts'
import { administer } from './shared/administer.ts'
import { addLabelFilter } from './shared/annotations.ts'
import { addCommand, type JsonOption, show, type Terminal } from './shared/terminal.ts'

type ExportOptions = JsonOption & ServerOptions & { label?: string[] }

export function addExport(program: Command, terminal: Terminal): void {
  const command = addCommand(
    program,
    'export',
    'print the suites and applications as a file for apply, without secrets',
  )
  addServerOptions(addLabelFilter(command), 'read from').action(async (options: ExportOptions) => {
    const server = await serverOf(terminal, options)
    const file = server
      ? await exportOf(server, options.label)
      : await administer(terminal, (_, on) => exportOf(databaseRegistry(on), options.label))
    await show(terminal, options, file, yamlOf(file).trimEnd())
  })
}
