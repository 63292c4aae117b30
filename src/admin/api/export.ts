import { databaseRegistry } from '../../administration/apply.ts'
import { EXPORT, exportOf } from '../../administration/export.ts'
import { labelsOf, query } from './query.ts'
import { type AddRoute, answer } from './routes.ts'

const SHOW = { querystring: query('label'), ...answer(EXPORT) }

export function exports(route: AddRoute): void {
  route('GET', '/export', SHOW, (administration, { query }) => {
    const registry = databaseRegistry(() => administration)
    return exportOf(registry, labelsOf(query))
  })
}
