import type { Application, ApplicationKey, ApplicationNames } from '../domain/application.ts'
import type { Clock } from '../domain/clock.ts'
import { inSteps } from '../domain/in-steps.ts'
import type { Store } from '../domain/store.ts'
import { hourOf } from '../domain/usage.ts'
import { cursorOf, keyOf } from './cursor.ts'
import { NAMES_AT_A_TIME, stepsOfNames } from './names.ts'

/** Which applications are asked for. */
export interface SearchFilter {
  /** In the client id, the name or the developer email, in capitals or not; left out or empty: any. */
  text?: string | undefined
  status?: Application['status'] | undefined
}

/** One page of them. */
export interface SearchQuery extends SearchFilter {
  /** What the page before said in `next`. */
  after?: string | undefined
  limit: number
}

/** An application in a list, with its tokens as far as they are known. */
export interface ListedApplication extends Application {
  /** In this hour of the clock so far, and in the one before it. */
  tokensThisHour: number
  tokensLastHour: number
  /** When it last got one. Milliseconds since the epoch; undefined: never yet. */
  lastTokenAt: number | undefined
}

/** Some applications, newest first. `next`: where the list goes on; undefined: nowhere. */
export interface SearchResult {
  applications: ListedApplication[]
  next: string | undefined
}

/** How many whole applications are read at a time: less than half a millisecond of work. Each has its suites and secrets. */
const WHOLE_AT_A_TIME = 50

/** Finds applications without keeping requests waiting, however many there are. */
export function createSearch({ store, now }: { store: Store; now: Clock }) {
  /** One page of the applications that match, newest first. Throws OperatorError where `after` is no cursor. */
  async function search({ after, limit, ...filter }: SearchQuery): Promise<SearchResult> {
    const names = await find(filter, { after: after === undefined ? undefined : keyOf(after), limit: limit + 1 })
    const page = names.slice(0, limit)
    return {
      applications: await whole(page),
      next: names.length > limit ? cursorOf(page.at(-1)?.key) : undefined,
    }
  }

  /** The newest applications that match, as many as `limit` says, oldest first. */
  async function list({
    limit = Infinity,
    ...filter
  }: SearchFilter & { limit?: number | undefined } = {}): Promise<ListedApplication[]> {
    return whole((await find(filter, { limit })).reverse())
  }

  /** The names of as many as `limit` says, newest first. */
  async function find(
    filter: SearchFilter,
    { after, limit }: { after?: ApplicationKey | undefined; limit: number },
  ): Promise<ApplicationNames[]> {
    const isAny = !filter.text && filter.status === undefined
    const size = isAny ? Math.min(limit, NAMES_AT_A_TIME) : NAMES_AT_A_TIME
    const matches = matcher(filter)
    const found: ApplicationNames[] = []
    for await (const names of stepsOfNames(store, { after, size })) {
      found.push(...names.filter(matches))
      if (found.length >= limit) return found.slice(0, limit)
    }
    return found
  }

  /** The applications of these names, but for those that were removed meanwhile. */
  async function whole(names: readonly ApplicationNames[]): Promise<ListedApplication[]> {
    const listed: ListedApplication[] = []
    await inSteps(names, async (step) => void listed.push(...(await withTokens(step))), WHOLE_AT_A_TIME)
    return listed
  }

  async function withTokens(names: readonly ApplicationNames[]): Promise<ListedApplication[]> {
    const found = await store.listApplicationsOf(names.map(({ key }) => key))
    const byKey = new Map(found.map((application) => [application.key, application]))
    const applications = names.flatMap(({ key }) => byKey.get(key) ?? [])
    const keys = applications.map(({ key }) => key)
    const hour = hourOf(now())
    const uses = new Map((await store.listApplicationUses(keys)).map((use) => [use.applicationKey, use.lastTokenAt]))
    const counts = await store.listTokenCounts(keys, [hour - 1, hour])
    const issued = (key: ApplicationKey, inHour: number) =>
      counts.find((count) => count.applicationKey === key && count.hour === inHour)?.issued ?? 0
    return applications.map((application) => ({
      ...application,
      tokensThisHour: issued(application.key, hour),
      tokensLastHour: issued(application.key, hour - 1),
      lastTokenAt: uses.get(application.key),
    }))
  }

  return { search, list }
}

function matcher({ text = '', status }: SearchFilter): (names: ApplicationNames) => boolean {
  const part = comparable(text)
  return (names) =>
    (status === undefined || names.status === status) &&
    [names.clientId, names.name, names.developerEmail].some((field) => comparable(field).includes(part))
}

/** The text as it is compared: an é that is two characters is the é that is one. */
function comparable(text: string): string {
  return text.normalize('NFC').toLowerCase()
}
