import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Labels, labelTexts } from '../../domain/labels.ts'
import { timestamp } from '../../domain/time.ts'
import type { JsonSchema } from '../../domain/views/schema.ts'
import type { AdminContext } from '../context.ts'
import { callerOf } from './caller.ts'
import { reportError } from './problem.ts'

export const FORMATS = ['csv', 'json'] as const

export type Row = Readonly<Record<string, unknown>>

/** How many rows are read in one turn. */
const AT_A_TIME = 200

interface Exported {
  /** Its name in the file's name and in the log. */
  list: string
  format: (typeof FORMATS)[number]
  /** The schema of a row. */
  row: JsonSchema
  /** The rows, page by page: each is read in a turn of the operator, when the client has taken the one before. */
  pages: AsyncIterator<readonly Row[]>
}

interface Page<Cursor> {
  rows: readonly Row[]
  next?: Cursor | null | undefined
}

/** All rows of a list, page by page. `after`: the `next` of the page before. */
export async function* everyPage<Cursor>(
  read: (page: { after: Cursor | undefined; limit: number }) => Promise<Page<Cursor>>,
): AsyncGenerator<readonly Row[]> {
  let after: Cursor | null | undefined
  do {
    const { rows, next } = await read({ after: after ?? undefined, limit: AT_A_TIME })
    yield rows
    after = next
  } while (after !== undefined && after !== null)
}

/**
 * Answers with a whole list as a file. Rejects if the first page cannot be read; if a later one cannot, the connection is
 * closed before the answer is complete.
 */
export async function sendList(
  { now, observe }: Pick<AdminContext, 'now' | 'observe'>,
  request: FastifyRequest,
  reply: FastifyReply,
  { list, format, row: schema, pages }: Exported,
): Promise<FastifyReply> {
  const { author } = callerOf(request)
  const { type, begin, row: textOf, between, end } = format === 'csv' ? csvText(schema) : JSON_TEXT
  let page = await pages.next()

  async function* parts() {
    let rows = 0
    try {
      yield begin
      while (!page.done) {
        const text = page.value.map(textOf).join(between)
        yield rows > 0 && text !== '' ? between + text : text
        rows += page.value.length
        page = await request.server.takeTurn(request, () => pages.next())
      }
      yield end
    } catch (error) {
      reportError(observe, error, request)
      throw error
    } finally {
      observe({ type: 'list exported', list, format, rows, ...author })
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

/** CSV (RFC 4180) with a byte order mark, by which spreadsheet programs recognize UTF-8. */
export function csvText({ properties }: JsonSchema): typeof JSON_TEXT {
  // The fields of an object are columns of their own: `subject_kind`.
  const columns = Object.entries(properties as Record<string, JsonSchema>).flatMap(([name, { properties: inner }]) =>
    inner ? Object.keys(inner).map((part) => [name, part]) : [[name]],
  )
  const line = (cells: readonly string[]) => `${cells.join(',')}\r\n`
  const valueAt = (row: Row, path: readonly string[]) => path.reduce<unknown>((value, key) => (value as Row)[key], row)
  return {
    type: 'text/csv; charset=utf-8; header=present',
    begin: `\uFEFF${line(columns.map((path) => path.join('_')))}`,
    row: (row) => line(columns.map((path) => cell(textsOf(path, valueAt(row, path))))),
    between: '',
    end: '',
  }
}

/** Labels are texts. */
function textsOf([column]: readonly string[], value: unknown): unknown {
  return column === 'labels' ? labelTexts(value as Labels) : value
}

/** The beginnings that make spreadsheet programs run a text as a formula, some also in full width or behind spaces. */
const FORMULA = /^\s*[=+\-@＝＋－＠]|^[\t\r\n]/

/** Texts that could be a formula begin with an apostrophe. Lists are joined with commas; other objects are JSON. */
function cell(value: unknown): string {
  if (typeof value === 'number') return String(value)
  const isPlain = Array.isArray(value) && value.every((item) => typeof item === 'string')
  const text = isPlain ? value.join(', ') : typeof value === 'string' ? value : JSON.stringify(value ?? undefined)
  if (text === undefined) return ''
  const safe = FORMULA.test(text) ? `'${text}` : text
  return /[",;\t\r\n]|^ | $/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
