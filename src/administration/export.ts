import { stringify } from 'yaml'
import { hasLabel, type Labels } from '../domain/application.ts'
import { mapInSteps } from '../domain/in-steps.ts'
import { NEW_APPLICATION, SUITE } from '../views/registry.ts'
import { list, object } from '../views/schema.ts'
import type { Registry } from './apply.ts'
import { type Kind, pick } from './apply-plan.ts'

const UNSET = { created_at: true, managed_by: true, applied_at: true } as const

const ENTRIES = {
  suite: object('ExportedSuite', 'A suite, without what another server would set anew', SUITE.omit(UNSET).shape),
  application: object(
    'ExportedApplication',
    'An application, without what another server would set anew',
    NEW_APPLICATION.omit({ managed_by: true }).shape,
  ),
}

export const EXPORT = object('Export', 'A file for `token-server apply`', {
  suites: list('In the order of their ids', ENTRIES.suite),
  applications: list('In the order of their client ids', ENTRIES.application),
})

/** A file for `apply` with everything that has these labels. The same content has the same order, wherever it is exported. */
export async function exportOf({ list }: Pick<Registry, 'list'>, labels: readonly string[] = []) {
  const entriesOf = async (kind: Kind) => {
    const rows = (await list(kind)).filter((row) => labels.every((label) => hasLabel(row.labels as Labels, label)))
    const [id, ...fields] = Object.keys(ENTRIES[kind].shape) as [string, ...string[]]
    const entries = await mapInSteps(rows, ({ suites, ...row }) =>
      pick({ ...row, suites: (suites as string[])?.toSorted() }, [id, ...fields]),
    )
    return entries.sort((one, other) => (String(one[id]) < String(other[id]) ? -1 : 1))
  }
  return { suites: await entriesOf('suite'), applications: await entriesOf('application') }
}

/** No line breaks that depend on the length of a text, no aliases, and quotes for what YAML 1.1 would not read as text. */
export function yamlOf(value: object): string {
  return stringify(value, { lineWidth: 0, aliasDuplicateObjects: false, compat: 'yaml-1.1' })
}
