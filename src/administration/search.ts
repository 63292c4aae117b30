import {
  type Application,
  type ApplicationKey,
  type ApplicationNames,
  hasLabel,
  type Labels,
  labelTexts,
  TEXT_FIELDS,
} from '../domain/application.ts'
import { chunksOf, inSteps } from '../domain/in-steps.ts'
import type { Page } from '../domain/store.ts'
import { differsBy } from '../domain/text.ts'
import { beginningsOf, DAY, HOUR, hourOf, LAST_TWO_HOURS, MANY_TOKENS, type TokenUse } from '../domain/usage.ts'
import type { ApplicationStates } from '../views/statistics.ts'
import type { ReadContext } from './context.ts'
import { NAMES_PER_STEP, type PageQuery, pageOf, ROWS_PER_STEP, stepsOfNames } from './pages.ts'

export interface SearchFilter {
  /** Words in the client id, a text or a label (`key=value`), in any order and case. Empty or omitted: matches all. */
  text?: string | undefined
  /** How words are compared: exactly, unless it is nearFinderOf. */
  finder?: typeof finderOf
  status?: Application['status'] | undefined
  suite?: string | undefined
  /** Each is a key, or `key=value`. */
  labels?: readonly string[] | undefined
}

export interface BrowseQuery extends SearchFilter {
  /** `name`; `used`: latest token first; `tokens`: most in the last 60 minutes first; anything else: newest first. */
  sort?: string
  accepts?: ((names: ApplicationNames) => boolean) | false
  uses?: ((application: Pick<Application, 'status'> & RecentUse) => boolean) | undefined
}

/** The recent use of an application. It lags by up to a minute. */
export interface RecentUse {
  /** Tokens issued in the last 60 minutes. */
  tokensThisHour: number
  /** Tokens issued in the 60 minutes before. */
  tokensLastHour: number
  /** Tokens issued, and refused by its quota, in the current clock hour. */
  issuedThisHour: number
  refusedThisHour: number
  /** When it last got a token; undefined if never. */
  lastTokenAt: number | undefined
}

export type ListedApplication = Application & RecentUse

/** More tokens in an hour than an application needs if it uses each until it expires. */
export function isHeavy({ tokensThisHour, tokensLastHour }: RecentUse): boolean {
  return Math.max(tokensThisHour, tokensLastHour) > MANY_TOKENS
}

/** Active, but without a token in the week before `now`. */
export function isQuiet({ status, lastTokenAt = 0 }: Pick<Application, 'status'> & RecentUse, now: number): boolean {
  return status === 'active' && lastTokenAt < now - 7 * DAY
}

/** The client ids of the heavy applications, and how many there are, and are quiet or suspended. Works in small steps. */
export async function countStates(context: ReadContext): Promise<ApplicationStates> {
  const { store, now } = context
  // Of the two clock hours that 60 minutes are in, one has half of their tokens or more.
  const busy = new Set(await store.listBusy((hourOf(now()) - 2) * HOUR, MANY_TOKENS / 2))
  const states = { heavy: [] as string[], all: 0, quiet: 0, suspended: 0 }
  for await (const names of stepsOfNames(store)) {
    const candidates = names.filter(({ clientId }) => busy.has(clientId))
    const heavy = (await withUse(context, candidates)).filter(isHeavy)
    const used = await withUse(context, names, 0)
    states.heavy.push(...heavy.map(({ clientId }) => clientId))
    states.all += used.length
    states.quiet += used.filter((one) => isQuiet(one, now())).length
    states.suspended += used.filter(({ status }) => status === 'suspended').length
  }
  return states
}

/** How many applications are read per step, with their suites and secrets, which takes 0.1 to 0.2 ms. */
const LOADED_AT_A_TIME = 10

const USES_AT_A_TIME = 500

/** Searches applications in small steps, so that other requests are not blocked however many there are. */
export function createSearch(context: ReadContext) {
  /**
   * One page of the matching applications, newest first. `total`: how many match in all, only counted for the first page. Throws
   * OperatorError if `after` is not a cursor.
   */
  async function search({ after, limit, ...filter }: SearchFilter & PageQuery) {
    const all = after === undefined && !isAny(filter) ? await find(context, filter, { limit: Infinity }) : undefined
    const list = async (page: Page<ApplicationKey>) => all?.slice(0, page.limit) ?? find(context, filter, page)
    const { rows, next } = await pageOf<ApplicationNames>({ after, limit }, list)
    const total = after === undefined ? (all?.length ?? (await context.store.countApplications())) : undefined
    return { applications: await load(context, rows), next, total }
  }

  async function browse({ from, limit, ...query }: BrowseQuery & { from: number; limit: number }) {
    const isPlain = !Object.values(query).some(Boolean)
    const matching = isPlain ? await find(context, {}, { limit: from + limit }) : await match(query)
    const applications = await load(context, matching.slice(from, from + limit))
    return { applications, total: isPlain ? await context.store.countApplications() : matching.length }
  }

  /** The names of all matching applications, in the order of `sort`. */
  async function match({ sort, accepts, uses, ...filter }: BrowseQuery): Promise<ApplicationNames[]> {
    const all = await find(context, filter, { limit: Infinity })
    const found = accepts ? all.filter(accepts) : all
    if (sort === 'name') return found.sort((one, other) => byName(one.name, other.name))
    if (sort !== 'used' && sort !== 'tokens' && !uses) return found
    // Tokens take most of the time.
    const hours = sort === 'tokens' ? 1 : 0
    const used: (ApplicationNames & RecentUse)[] = []
    await inSteps(found, async (step) => void used.push(...(await withUse(context, step, hours))), USES_AT_A_TIME)
    const lastUse = ({ lastTokenAt }: RecentUse) => lastTokenAt ?? 0
    if (sort === 'used') used.sort((one, other) => lastUse(other) - lastUse(one))
    if (sort === 'tokens') used.sort((one, other) => other.tokensThisHour - one.tokensThisHour)
    return uses ? used.filter(uses) : used
  }

  /** All matching applications in the order of `sort`, page by page. Keeps only the keys of later pages. */
  async function* pages(query: BrowseQuery): AsyncGenerator<ListedApplication[]> {
    const keys = (await match(query)).map(({ key }) => ({ key }))
    for (const step of chunksOf(keys, ROWS_PER_STEP)) yield await load(context, step)
  }

  /** The newest `limit` matching applications, oldest first. */
  async function list({ limit = Infinity, ...filter }: SearchFilter & { limit?: number | undefined } = {}) {
    return load(context, (await find(context, filter, { limit })).reverse())
  }

  return { search, browse, match, pages, list }
}

async function find(
  { store }: ReadContext,
  filter: SearchFilter,
  { after, limit }: Page<ApplicationKey>,
): Promise<ApplicationNames[]> {
  const size = isAny(filter) ? Math.min(limit, NAMES_PER_STEP) : NAMES_PER_STEP
  const matches = matcher(filter)
  const found: ApplicationNames[] = []
  for await (const names of stepsOfNames(store, { after, limit: size, suite: filter.suite })) {
    found.push(...names.filter(matches))
    if (found.length >= limit) return found.slice(0, limit)
  }
  return found
}

/** Loads the applications of these names, without those that were removed in the meantime. */
async function load(
  context: ReadContext,
  names: readonly Pick<ApplicationNames, 'key'>[],
): Promise<ListedApplication[]> {
  const listed: ListedApplication[] = []
  const loadStep = async (step: Pick<ApplicationNames, 'key'>[]) => {
    const found = await context.store.listApplicationsOf(step.map(({ key }) => key))
    const byKey = new Map(found.map((application) => [application.key, application]))
    const inOrder = step.flatMap(({ key }) => byKey.get(key) ?? [])
    listed.push(...(await withUse(context, inOrder)))
  }
  await inSteps(names, loadStep, LOADED_AT_A_TIME)
  return listed
}

/** `hours`: of how many hours the tokens are counted. */
export async function withUse<Row extends Pick<Application, 'key' | 'clientId'>>(
  { store, now }: ReadContext,
  applications: readonly Row[],
  hours: 0 | 1 | 2 = 2,
): Promise<(Row & RecentUse)[]> {
  const keys = applications.map(({ key }) => key)
  const hour = hourOf(now())
  const counts = new Map((await store.listTokenCounts(keys, hour)).map((count) => [count.applicationKey, count]))
  const all = beginningsOf(LAST_TWO_HOURS, now())
  const anHourAgo = all[all.length / 2] as number
  const beginnings = all.slice(all.length * (1 - hours / 2))
  const clientIds = applications.map(({ clientId }) => clientId)
  const usage = Map.groupBy(
    hours > 0 ? await store.listUsage(clientIds, LAST_TWO_HOURS.span, beginnings) : [],
    ({ clientId, since }) => `${since >= anHourAgo} ${clientId}`,
  )
  const tokensOf = (key: string) => (usage.get(key) ?? []).reduce((sum, { tokens }) => sum + tokens, 0)
  return applications.map((application) => {
    const { issued, refused, lastTokenAt } = counts.get(application.key) as TokenUse
    return {
      ...application,
      tokensThisHour: tokensOf(`true ${application.clientId}`),
      tokensLastHour: tokensOf(`false ${application.clientId}`),
      issuedThisHour: issued,
      refusedThisHour: refused,
      lastTokenAt: lastTokenAt ?? undefined,
    }
  })
}

export const { compare: byName } = new Intl.Collator('en', { numeric: true })

function isAny({ text, status, suite, labels = [] }: SearchFilter): boolean {
  return !text && status === undefined && suite === undefined && labels.length === 0
}

function matcher({
  text = '',
  finder = finderOf,
  status,
  suite,
  labels = [],
}: SearchFilter): (names: ApplicationNames) => boolean {
  const isFound = finder(text)
  return (names) => {
    if (status !== undefined && names.status !== status) return false
    if (suite !== undefined && !names.isApproved) return false
    const labelled: Labels = JSON.parse(names.labels)
    return (
      labels.every((label) => hasLabel(labelled, label)) &&
      isFound(names.clientId, ...TEXT_FIELDS.map((field) => names[field]), ...labelTexts(labelled))
    )
  }
}

/** Returns a function that tells whether texts contain all words of a search, in any order and case. */
export function finderOf(search: string): (...texts: string[]) => boolean {
  const words = normalized(search).trim().split(/\s+/)
  return (...texts) => {
    const all = normalized(texts.join('\n'))
    return words.every((word) => all.includes(word))
  }
}

/** A shorter word must be spelt exactly. */
const SHORTEST = 4

/** The same for whole words, of which each longer one may have a letter that is wrong, missing, added or swapped with the next. */
export function nearFinderOf(search: string): (...texts: string[]) => boolean {
  const words = wordsIn(search)
  return (...texts) => {
    const all = wordsIn(texts.join('\n'))
    const isNear = (word: string) => all.some((one) => differsBy(word.length < SHORTEST ? 0 : 1, one, word))
    return words.length > 0 && words.every(isNear)
  }
}

function wordsIn(text: string): string[] {
  return normalized(text)
    .split(/[\s\p{P}]+/u)
    .filter(Boolean)
}

/** Lower-cased, and NFC-normalized so that composed and decomposed letters match. */
function normalized(text: string): string {
  return text.normalize('NFC').toLowerCase()
}
