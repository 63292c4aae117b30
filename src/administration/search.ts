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
import {
  beginningsOf,
  DAY,
  HOUR,
  hourOf,
  LAST_TWO_HOURS,
  MANY_TOKENS,
  PERIODS,
  type TokenUse,
} from '../domain/usage.ts'
import type { ApplicationStates } from '../views/statistics.ts'
import type { ReadContext } from './context.ts'
import { firstOf, NAMES_PER_STEP, type Order, type PageQuery, pageOf, ROWS_PER_STEP, stepsOfNames } from './pages.ts'

export interface SearchFilter {
  /** Words in the client id, a text or a label (`key=value`), in any order and case. Empty or omitted: matches all. */
  text?: string | undefined
  /** How words are compared: exactly, unless it is nearFinderOf. */
  finder?: typeof finderOf
  status?: Application['status'] | undefined
  /** That it is approved for or, if `isApproved` is 0, is not. */
  suite?: string | undefined
  isApproved?: ApplicationNames['isApproved'] | undefined
  /** Each is a key, or `key=value`. */
  labels?: readonly string[] | undefined
}

export interface BrowseQuery extends SearchFilter {
  /**
   * `name`; `used`: latest token first; `tokens`: most in the last 60 minutes first; `closest`: by distanceTo the text; anything
   * else, and among equals: newest first.
   */
  sort?: string
  accepts?: ((names: ApplicationNames) => boolean) | undefined
}

/** What is found. `tokens`: those of the last 60 minutes, if it is sorted by them. */
type Found = ApplicationNames & { tokens?: number }

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
export function isQuiet(
  { status, lastTokenAt }: Pick<Application, 'status'> & Pick<ApplicationNames | RecentUse, 'lastTokenAt'>,
  now: number,
): boolean {
  return status === 'active' && (lastTokenAt ?? 0) < now - 7 * DAY
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
    states.heavy.push(...heavy.map(({ clientId }) => clientId))
    states.all += names.length
    states.quiet += names.filter((one) => isQuiet(one, now())).length
    states.suspended += names.filter(({ status }) => status === 'suspended').length
  }
  return states
}

/** How many applications are read per step, with their suites and secrets, which takes 0.1 to 0.2 ms. */
const LOADED_AT_A_TIME = 10

/** Searches applications in small steps, so that other requests are not blocked however many there are. */
export function createSearch(context: ReadContext) {
  /**
   * One page of the matching applications, newest first. `total`: how many match in all, only counted for the first page. Throws
   * OperatorError if `after` is not a cursor.
   */
  async function search({ after, limit, ...filter }: SearchFilter & PageQuery) {
    const [all] = after === undefined && !isAny(filter) ? await matchEach(context, [filter], limit + 1) : []
    const list = async (page: Page<ApplicationKey>) => all?.first ?? find(context, filter, page)
    const { rows, next } = await pageOf<ApplicationNames>({ after, limit }, list)
    const total = after === undefined ? (all?.total ?? (await context.store.countApplications())) : undefined
    return { applications: await load(context, rows), next, total }
  }

  async function browse({ from, limit, ...query }: BrowseQuery & { from: number; limit: number }) {
    const isPlain = !Object.values(query).some(Boolean)
    const [found] = isPlain ? [] : await matchEach(context, [query], from + limit)
    const names = found?.first ?? (await find(context, {}, { limit: from + limit }))
    const applications = await load(context, names.slice(from))
    return { applications, total: found?.total ?? (await context.store.countApplications()) }
  }

  /** The names of all matching applications, in the order of `sort`. */
  async function match(query: BrowseQuery): Promise<ApplicationNames[]> {
    return (await matchEach(context, [query])).flatMap(({ first }) => first)
  }

  /** For each of these searches, the names of the `limit` closest matches. */
  async function closest(searches: readonly SearchFilter[], limit: number): Promise<ApplicationNames[][]> {
    const queries = searches.map((search) => ({ ...search, sort: 'closest' }))
    return (await matchEach(context, queries, limit)).map(({ first }) => first)
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

  return { search, browse, match, closest, pages, list }
}

/**
 * For each of these queries, which have the same suite if any, the first `limit` matches in its order, and how many there are. Reads
 * the names once, in small steps.
 */
async function matchEach(context: ReadContext, queries: readonly BrowseQuery[], limit = Infinity) {
  const all = queries.map(({ accepts, ...query }) => {
    const matches = matcher(query)
    const accepted = accepts ? (names: Found) => matches(names) && accepts(names) : matches
    return { accepted, order: orderOf(query), first: [] as Found[], total: 0 }
  })
  const page = { limit: NAMES_PER_STEP, suite: queries[0]?.suite }
  const isByTokens = queries.some(({ sort }) => sort === 'tokens')
  for await (const names of stepsOfNames(context.store, page)) {
    const step = isByTokens ? await withTokens(context, names) : names
    for (const one of all) {
      const matching = step.filter(one.accepted)
      one.total += matching.length
      one.first = firstOf(one.first, matching, one.order, limit)
    }
  }
  return all
}

/** Adds the tokens of the last 60 minutes to a step of names. */
async function withTokens({ store, now }: ReadContext, names: readonly ApplicationNames[]): Promise<Found[]> {
  const keys = names.map(({ key }) => key)
  const all = await store.sumUsage(keys, PERIODS['1h'].span, beginningsOf(PERIODS['1h'], now()))
  const sums = new Map(all.map(({ key, tokens }) => [key, tokens]))
  return names.map((one) => ({ ...one, tokens: sums.get(one.key) ?? 0 }))
}

function orderOf({ sort, text = '' }: BrowseQuery): Order<Found> {
  if (sort === 'name') return (one, other) => byName(one.name, other.name)
  if (sort === 'used') return (one, other) => Number(other.lastTokenAt) - Number(one.lastTokenAt)
  if (sort === 'tokens') return (one, other) => Number(other.tokens) - Number(one.tokens)
  if (sort !== 'closest') return () => 0
  const distance = distanceTo(text)
  return (one, other) => distance(one.clientId, one.name) - distance(other.clientId, other.name)
}

/** Returns how far names are from a text: 0 if one is the same, 1 if one begins so, both in any case; else 2. */
export function distanceTo(text: string): (...names: string[]) => number {
  const wanted = text.toLowerCase()
  return (...names) => {
    const all = names.map((one) => one.toLowerCase())
    return all.includes(wanted) ? 0 : all.some((one) => one.startsWith(wanted)) ? 1 : 2
  }
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

export async function withUse<Row extends Pick<Application, 'key' | 'clientId'>>(
  { store, now }: ReadContext,
  applications: readonly Row[],
): Promise<(Row & RecentUse)[]> {
  const keys = applications.map(({ key }) => key)
  const hour = hourOf(now())
  const counts = new Map((await store.listTokenCounts(keys, hour)).map((count) => [count.applicationKey, count]))
  const beginnings = beginningsOf(LAST_TWO_HOURS, now())
  const anHourAgo = beginnings[beginnings.length / 2] as number
  const clientIds = applications.map(({ clientId }) => clientId)
  const usage = Map.groupBy(
    await store.listUsage(clientIds, LAST_TWO_HOURS.span, beginnings),
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
  isApproved = 1,
  labels = [],
}: SearchFilter): (names: ApplicationNames) => boolean {
  const isFound = finder(text)
  return (names) => {
    if (status !== undefined && names.status !== status) return false
    if (suite !== undefined && names.isApproved !== isApproved) return false
    if (!text && labels.length === 0) return true
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
  const words = wordsIn(normalized(search))
  const parts = words.map(rightParts)
  return (...texts) => {
    const text = normalized(texts.join('\n'))
    // Few texts have them, and to compare each word takes ten times as long.
    if (words.length === 0 || !parts.every((some) => some.some((part) => text.includes(part)))) return false
    const all = wordsIn(text)
    return words.every((word) => all.some((one) => differsBy(word.length < SHORTEST ? 0 : 1, one, word)))
  }
}

/** Whichever letter of a word is wrong, at least one of these is right: a half or, if the letters between were swapped, all. */
function rightParts(word: string): string[] {
  if (word.length < SHORTEST) return [word]
  const half = Math.floor(word.length / 2)
  const swapped = `${word.slice(0, half - 1)}${word[half]}${word[half - 1]}${word.slice(half + 1)}`
  return [word.slice(0, half), word.slice(half), swapped]
}

function wordsIn(normalizedText: string): string[] {
  return normalizedText.split(/[\s\p{P}]+/u).filter(Boolean)
}

/** Lower-cased, and NFC-normalized so that composed and decomposed letters match. */
function normalized(text: string): string {
  return text.normalize('NFC').toLowerCase()
}
