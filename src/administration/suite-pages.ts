import type { Application } from '../domain/application.ts'
import type { Clock } from '../domain/clock.ts'
import type { Page, Store } from '../domain/store.ts'
import type { Suite } from '../domain/suite.ts'
import { cursorOf, keyOf } from './cursor.ts'
import { type ListedSecret, listSecrets } from './secrets.ts'

/** One page of a list. */
interface PageQuery {
  /** What the page before said in `next`. */
  after?: string | undefined
  limit: number
}

/** Some rows of a list. `next`: where it goes on; undefined: nowhere. */
interface PageResult<Row> {
  rows: Row[]
  next: string | undefined
}

/** A suite in a list. */
export interface ListedSuite extends Suite {
  secrets: ListedSecret[]
  /** How many applications are approved for it; MANY_APPROVED: so many, or more. */
  approved: number
}

/** So many are counted of each suite in a list: with many suites and applications, counting all takes long. */
export const MANY_APPROVED = 1000

/** Lists of suites, and of who is approved for them, that are read one page at a time. Throw OperatorError where `after` is no cursor. */
export function createSuitePages({ store, now }: { store: Store; now: Clock }) {
  /** Some suites, oldest first. */
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

  /** Some of the applications that are approved for a suite, oldest first. */
  function listApprovedPage(suiteId: string, query: PageQuery): Promise<PageResult<Application>> {
    return pageOf(query, (page) => store.listApprovedApplications(suiteId, page))
  }

  /** How many applications are approved for a suite. */
  async function countApproved(suiteId: string): Promise<number> {
    const [count] = await store.countApproved([suiteId], Number.MAX_SAFE_INTEGER)
    return count as number
  }

  return { listPage, listApprovedPage, countApproved }
}

/** One page of what `list` lists: it is asked for one row more, to know whether there is any. */
async function pageOf<Row extends { readonly key: unknown }>(
  { after, limit }: PageQuery,
  list: (page: Page<Row['key']>) => Promise<Row[]>,
): Promise<PageResult<Row>> {
  const found = await list({ after: after === undefined ? undefined : keyOf<Row['key']>(after), limit: limit + 1 })
  const rows = found.slice(0, limit)
  return { rows, next: found.length > limit ? cursorOf(rows.at(-1)?.key) : undefined }
}
