import type { Page } from '../domain/store.ts'

const PAGE_SIZE = 500

/** Every row of a list, read page by page. */
export async function allPages<Row extends { readonly key: unknown }>(
  list: (page: Page<Row['key']>) => Promise<Row[]>,
): Promise<Row[]> {
  const rows: Row[] = []
  for (;;) {
    const page = await list({ after: rows.at(-1)?.key, limit: PAGE_SIZE })
    rows.push(...page)
    if (page.length < PAGE_SIZE) return rows
  }
}

/** Rows in pieces of at most `size`; a row weighs 1 where nothing else is said. */
export function* chunksOf<Row>(rows: readonly Row[], size: number, weigh: (row: Row) => number = () => 1) {
  let chunk: Row[] = []
  let weight = 0
  for (const row of rows) {
    if (weight + weigh(row) > size && chunk.length > 0) {
      yield chunk
      chunk = []
      weight = 0
    }
    chunk.push(row)
    weight += weigh(row)
  }
  if (chunk.length > 0) yield chunk
}
