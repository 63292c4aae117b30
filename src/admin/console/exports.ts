import type { FastifyInstance, FastifyRequest } from 'fastify'
import { jsonSchema } from '../../domain/views/schema.ts'
import type { AdminContext } from '../context.ts'
import { FORMATS, type Row, sendList } from '../wire/export.ts'
import { address, type Html, html } from './html.ts'

interface List {
  /** The page of the list: `/audit`. Its files are `/audit.csv` and `/audit.json`. */
  path: string
  /** Its name in the files' names and in the log. */
  list: string
  row: Parameters<typeof jsonSchema>[0]
  /** The rows with the filters of a request, page by page. */
  pages: (request: FastifyRequest) => AsyncIterator<readonly Row[]>
}

/** Adds the routes that send a list as a file. */
export function exportList(console: FastifyInstance, context: AdminContext, { path, list, row, pages }: List): void {
  for (const format of FORMATS) {
    console.get(`${path}.${format}`, async (request, reply) =>
      sendList(context, request, reply, { list, format, row: jsonSchema(row), pages: pages(request) }),
    )
  }
}

/** Links to the files of a list with these filters. */
export function exportLinks(path: string, filter: Readonly<Record<string, string>>): Html {
  const [csv, json] = FORMATS.map((format) => address(`${path}.${format}`, filter))
  return html`<span class="export">Export <a href="${csv}">CSV</a> · <a href="${json}">JSON</a></span>`
}
