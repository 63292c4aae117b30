import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Labels, labelTexts } from '../../domain/application.ts'
import { timestamp } from '../../domain/time.ts'
import { type JsonSchema, jsonSchema } from '../../views/schema.ts'
import { address, type Html, html } from '../../web/html.ts'
import type { AdminContext } from '../context.ts'
import { callerOf } from '../wire/caller.ts'
import { RefusedOperator, reportError } from '../wire/problem.ts'

export const FORMATS = ['csv', 'json'] as const

type Row = Readonly<Record<string, unknown>>

export function exportLinks(path: string, filter: Readonly<Record<string, string>>): Html {
  const [csv, json] = FORMATS.map((format) => address(`${path}.${format}`, filter))
  return html`Export <a href="${csv}">CSV</a> · <a href="${json}">JSON</a>`
}

export interface File {
  format: (typeof FORMATS)[number]
  /** The name of the list in the file's name and in the log. */
  list: string
  schema: Parameters<typeof jsonSchema>[0]
  /** The rows, page by page. A page is read when the client has taken the previous one and it is the operator's turn. */
  pages: AsyncIterator<readonly Row[]>
}

/**
 * Answers with a whole list as a file. Rejects if the first page cannot be read; if a later one cannot, or the session has ended,
 * the connection is closed before the answer is complete.
 */
export async function sendFile(
  { now, observe, signIn }: AdminContext,
  request: FastifyRequest,
  reply: FastifyReply,
  { format, list, schema, pages }: File,
): Promise<FastifyReply> {
  const { author, credential } = callerOf(request)
  const { type, begin, row: textOf, between, end } = format === 'csv' ? csvText(jsonSchema(schema)) : JSON_TEXT
  let page = await pages.next()

  async function nextPage() {
    if (!(await signIn.findSession(credential))) throw new RefusedOperator('no credentials')
    return pages.next()
  }

  async function* parts() {
    let rows = 0
    let complete = false
    try {
      yield begin
      while (!page.done) {
        const text = page.value.map(textOf).join(between)
        yield rows > 0 && text !== '' ? between + text : text
        rows += page.value.length
        page = await request.server.takeTurn(request, nextPage)
      }
      yield end
      complete = true
    } catch (error) {
      reportError(observe, error, request)
      throw error
    } finally {
      observe({ type: 'list exported', list, format, rows, complete, ...author })
    }
  }

  const file = `${list.replace('_', '-')}-${timestamp(now()).slice(0, 10)}.${format}`
  reply.header('content-disposition', `attachment; filename="${file}"`).type(type)
  return reply.send(Readable.from(request.method === 'HEAD' ? [] : parts()))
}

const JSON_TEXT = {
  type: 'application/json; charset=utf-8',
  begin: '[\n',
  row: (row: Row) => JSON.stringify(row),
  between: ',\n',
  end: '\n]\n',
}

/** CSV (RFC 4180) with a byte order mark, so that spreadsheet programs recognize UTF-8. */
export function csvText({ properties }: JsonSchema): typeof JSON_TEXT {
  // The fields of an object get their own columns: `subject_kind`.
  const columns = Object.entries(properties as Record<string, JsonSchema>).flatMap(([name, { properties: inner }]) =>
    inner ? Object.keys(inner).map((part) => [name, part]) : [[name]],
  )
  const line = (cells: readonly string[]) => `${cells.join(',')}\r\n`
  const valueAt = (row: Row, path: readonly string[]) =>
    path.reduce<unknown>((value, key) => (value as Row | null)?.[key], row)
  return {
    type: 'text/csv; charset=utf-8; header=present',
    begin: `\uFEFF${line(columns.map((path) => path.join('_')))}`,
    row: (row) =>
      line(columns.map((path) => cell(path[0] === 'labels' ? labelTexts(row.labels as Labels) : valueAt(row, path)))),
    between: '',
    end: '',
  }
}

/**
 * Where spreadsheet programs would run a text as a formula, even in full-width form or after spaces: at its beginning, and after
 * a semicolon or a line break, which end a cell where semicolons separate them, in spite of quotes.
 */
const FORMULA = /(^|[;\r\n])(?=[^\S\r\n]*[=+\-@＝＋－＠])|^(?=[\t\r\n])/g

/** Prefixes texts that could be a formula with an apostrophe. Lists are joined with commas; other objects are JSON. */
function cell(value: unknown): string {
  if (typeof value === 'number') return String(value)
  const isPlain = Array.isArray(value) && value.every((item) => typeof item === 'string')
  const text = isPlain ? value.join(', ') : typeof value === 'string' ? value : JSON.stringify(value ?? undefined)
  if (text === undefined) return ''
  const safe = text.replace(FORMULA, "$1'")
  return /[",;\t\r\n]|^ | $/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
