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
