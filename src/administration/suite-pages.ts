import type { Application } from '../domain/application.ts'
import type { Page, Store } from '../domain/store.ts'
import type { Suite } from '../domain/suite.ts'
import type { Clock } from '../domain/time.ts'
import { cursorOf, keyOf } from './pages.ts'
import { type ListedSecret, listSecrets } from './secrets.ts'

interface PageQuery {
  /** `next` of the previous page. */
  after?: string | undefined
  limit: number
}

/** `next`: cursor of the next page; undefined on the last one. */
interface PageResult<Row> {
  rows: Row[]
  next: string | undefined
}

export interface ListedSuite extends Suite {
  secrets: ListedSecret[]
  /** Number of approved applications; MANY_APPROVED means that many or more. */
  approved: number
}

/** Counting stops here for each suite in a list: counting them all takes too long with many suites. */
export const MANY_APPROVED = 1000

/** Suites and their approved applications, one page at a time. Throws OperatorError if `after` is not a cursor. */
export function createSuitePages({ store, now }: { store: Store; now: Clock }) {
  /** Suites, oldest first. */
  async function listPage(query: PageQuery): Promise<PageResult<ListedSuite>> {
    const { rows, next } = await pageOf<Suite>(query, (page) => store.listSuites(page))
    const counts = await store.countApproved(
      rows.map(({ suiteId }) => suiteId),
      MANY_APPROVED,
    )
    const secrets = await listSecrets(
      { store, now },
      rows.flatMap((suite) => suite.secrets),
    )
    const listed = rows.map((suite, at) => ({
      ...suite,
      secrets: secrets.filter(({ id }) => suite.secrets.some((secret) => secret.id === id)),
      approved: counts[at] as number,
    }))
    return { rows: listed, next }
  }

  /** The applications approved for a suite, oldest first. */
  function listApprovedPage(suiteId: string, query: PageQuery): Promise<PageResult<Application>> {
    return pageOf(query, (page) => store.listApprovedApplications(suiteId, page))
  }

  async function countApproved(suiteId: string): Promise<number> {
    const [count] = await store.countApproved([suiteId], Number.MAX_SAFE_INTEGER)
    return count as number
  }

  return { listPage, listApprovedPage, countApproved }
}

/** Asks `list` for one row more than the page has, to find out whether there is a next page. */
async function pageOf<Row extends { readonly key: unknown }>(
  { after, limit }: PageQuery,
  list: (page: Page<Row['key']>) => Promise<Row[]>,
): Promise<PageResult<Row>> {
  const found = await list({ after: after === undefined ? undefined : keyOf<Row['key']>(after), limit: limit + 1 })
  const rows = found.slice(0, limit)
  return { rows, next: found.length > limit ? cursorOf(rows.at(-1)?.key) : undefined }
}
