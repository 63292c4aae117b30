import { countStates } from '../administration/search.ts'
import { usageOf, usageOfAll } from '../administration/usage.ts'
import { isNeeded } from '../domain/federation.ts'
import { ClocksDiffer, type Store } from '../domain/store.ts'
import { asSentence } from '../domain/text.ts'
import type { Clock } from '../domain/time.ts'
import { firstTokenIdAt, TOKEN_LIFETIME } from '../domain/token.ts'
import { DAY, HOUR, PERIOD_NAMES, type Period, USAGE_INTERVAL_MS } from '../domain/usage.ts'
import type { Counters } from '../telemetry/metrics/counters.ts'
import type { MeasuredValues } from '../telemetry/metrics/exposition.ts'
import { createFleet } from '../telemetry/metrics/fleet.ts'
import { countFailures } from '../telemetry/metrics/history.ts'
import type { LiveTokens, StoreState } from '../views/statistics.ts'
import { within } from './loops.ts'

/** The processes that answer requests. */
export interface Workers {
  expected: number
  serving: () => number
}

export type ServerFigures = ReturnType<typeof createServerFigures>

/** The figures of a server: the counters and samples of its processes, and the figures of its store. */
export function createServerFigures(
  counters: Counters,
  workers: Workers,
  { now = Date.now, monotonic = () => performance.now() }: Partial<Clocks> = {},
) {
  const fleet = createFleet(counters, workers.expected)
  return {
    counters,
    workers,
    fleet,
    storeFigures: createStoreFigures(countFailures(counters), { now, monotonic }),
    now,
    monotonic,
  }
}

type Clocks = Record<'now' | 'monotonic', Clock>

/** How long a scrape waits for the store, which may hang. Milliseconds. */
export const STORE_TIMEOUT_MS = 1000

/** How long the result of a query is used. Milliseconds. */
const MAX_AGE_MS = 15_000

/** The same for live tokens and nodes, which the overview updates continuously. Milliseconds. */
export const LIVE_MAX_AGE_MS = 5000

/** How many of the applications and suites that soon lose their last secret are listed. */
const MAX_ENDING = 1000

const MAX_NODES = 100

/** How long the last known usage is shown while it is being read again, which takes half a second for 20,000 applications. */
const USAGE_GRACE_MS = 10 * 60_000

const NO_ANSWER: StoreState = {
  isUp: false,
  canWrite: false,
  canCheck: false,
  problem: 'The database is not open yet, or has not answered for a second.',
}

const NO_TOKEN = Buffer.alloc(16)

/** Less than `STORE_TIMEOUT_MS`: a write that waits, for example for another process's lock, does not mean that checks fail. */
const WRITE_TIMEOUT_MS = 700
const WRITE_WAITS = new Error('a write is waiting: another process may lock the database')

/** Finds out what works: tries a write if requests have failed, otherwise only the read that a check makes. */
async function stateOf(store: Store, isDoubted: boolean): Promise<StoreState> {
  const [written, checked] = await Promise.allSettled([
    within<unknown>(WRITE_TIMEOUT_MS, store.ping(isDoubted), WRITE_WAITS),
    store.findToken(NO_TOKEN),
  ])
  const failure = written.status === 'rejected' ? written.reason : written.value
  const canCheck = checked.status === 'fulfilled'
  if (!failure) return { isUp: true, canWrite: true, canCheck: true, problem: undefined }
  return { isUp: false, canWrite: failure instanceof ClocksDiffer, canCheck, problem: asSentence(failure.message) }
}

/** The figures of a store that may hang, or may not be open yet. */
function createStoreFigures(newFailures: () => number, { now, monotonic }: Clocks) {
  let store: Store | undefined
  const opened = async () => store ?? Promise.reject(new Error('The store is not open yet.'))
  const share = <Figure>(maxAge: number, read: (store: Store) => Promise<Figure>, grace = 0) =>
    shareFigure(async () => read(await opened()), { maxAge, grace, timeout: STORE_TIMEOUT_MS, monotonic })
  const state = share(0, (store) => stateOf(store, newFailures() > 0))
  const measured = share(MAX_AGE_MS, (store) => store.measure(now()))
  const ending = share(MAX_AGE_MS, (store) => store.listEndingSecrets(now(), now() + 7 * DAY, MAX_ENDING))
  const nodes = share(LIVE_MAX_AGE_MS, async (store) => store.nodes?.list(MAX_NODES))
  const issuers = share(MAX_AGE_MS, (store) => listTroubledIssuers(store, now()))
  const live = share(LIVE_MAX_AGE_MS, (store) => countLiveTokens(store, now))
  const hours = share(USAGE_INTERVAL_MS, (store) => usageOf({ store, now }, '', lastHours(now())))
  const states = share(MAX_AGE_MS, (store) => countStates({ store, now }))
  const usage = new Map(
    PERIOD_NAMES.map((period) => {
      const read = (store: Store) => usageOfAll({ store, now }, period)
      return [period, share(USAGE_INTERVAL_MS, read, USAGE_GRACE_MS)]
    }),
  )

  async function readState(): Promise<StoreState> {
    const { figure, isFresh } = await state()
    return figure && isFresh ? figure : NO_ANSWER
  }

  /** The figures of /metrics, and the state of the store. Undefined while unknown. */
  async function readBasic() {
    const [state, { figure }] = await Promise.all([readState(), measured()])
    return { state, ...figure }
  }

  return {
    open(opened: Store): void {
      store = opened
    },

    readState,

    readUsage: async (period: Period) => (await usage.get(period)?.())?.figure,

    readStates: async (version?: unknown) => (await states(version)).figure,

    /** The figures of /metrics, and those that only the statistics have. */
    async readAll() {
      const shared = Promise.all([ending(), live(), nodes(), issuers(), hours()])
      const [basic, [{ figure: next }, { figure: liveTokens }, { figure: known }, { figure: away }, { figure: day }]] =
        await Promise.all([readBasic(), shared])
      const endingSecrets = basic.ending && next && { ...basic.ending, next }
      return { ...basic, endingSecrets, liveTokens, nodes: known, issuers: away, hours: day?.points }
    },

    async measure(): Promise<MeasuredValues> {
      const { state, size, oldestTokenAt, ending, lastBackupAt, auditHead } = await readBasic()
      const expiredFor = oldestTokenAt === undefined ? 0 : now() - oldestTokenAt - TOKEN_LIFETIME
      return {
        store_up: [[[], state.isUp ? 1 : 0]],
        database_bytes: [[[], size?.database ?? 0]],
        wal_bytes: [[[], size?.log ?? 0]],
        oldest_expired_token_seconds: [[[], Math.max(0, expiredFor) / 1000]],
        secrets_ending: [
          [['1d'], ending?.inADay ?? 0],
          [['7d'], ending?.inAWeek ?? 0],
        ],
        audit_head_id: [[[], auditHead?.id ?? 0]],
        last_backup_timestamp_seconds: [[[], (lastBackupAt ?? 0) / 1000]],
        clock_offset_seconds: [[[], (store?.clockOffset() ?? 0) / 1000]],
      }
    },
  }
}

/** The same hour yesterday, and all since. */
const lastHours = (now: number) => ({ since: now - 25 * HOUR, until: now })

async function listTroubledIssuers(store: Pick<Store, 'listIssuers'>, at: number) {
  const issuers = await store.listIssuers(at)
  const needed = issuers.filter((issuer) => isNeeded(issuer, at))
  return needed.flatMap(({ problem, ...rest }) => (problem === null ? [] : { problem, ...rest }))
}

/** Up to this number, tokens are counted exactly: about 50 ms of work, in steps of less than a millisecond. */
const MAX_COUNTED = 100_000

/**
 * Counts the tokens that a check would find active. Above MAX_COUNTED it estimates them from the hourly counts of issued
 * tokens. Throws StoreUnavailable.
 */
export async function countLiveTokens(
  store: Pick<Store, 'countLiveTokens' | 'listUsage' | 'listNames' | 'sumUsage'>,
  now: Clock,
): Promise<LiveTokens> {
  const count = await store.countLiveTokens(firstTokenIdAt(now() - TOKEN_LIFETIME + 1), MAX_COUNTED)
  if (count !== undefined) return { count, isExact: true }
  const { points } = await usageOf({ store, now }, '', '24h')
  const [previous = 0, current = 0] = points.slice(-2).map(({ tokens }) => tokens)
  const elapsed = (now() % HOUR) / HOUR
  return { count: Math.max(MAX_COUNTED, Math.round(previous * (1 - elapsed) + current)), isExact: false }
}

/**
 * Returns a function that resolves to a figure within `timeout` even if `read` hangs. All callers share one call of `read`, which
 * is repeated when its result is older than `maxAge`; they get the old result meanwhile, until it is older than `maxAge + grace`.
 * `isFresh`: whether the last call succeeded in time. Milliseconds. It is also read anew for a caller who names another version.
 */
export function shareFigure<Figure>(
  read: () => Promise<Figure>,
  { maxAge, grace = 0, timeout, monotonic }: { maxAge: number; grace?: number; timeout: number; monotonic: Clock },
) {
  let figure: Figure | undefined
  let readAt = Number.NEGATIVE_INFINITY
  let isFresh = false
  let reading: Promise<void> | undefined
  let known: unknown

  async function refresh(version: unknown): Promise<void> {
    isFresh = false
    try {
      figure = await read()
      readAt = monotonic()
      known = version
      isFresh = true
    } catch {
      // The last figure remains, and the next caller tries again.
    }
    reading = undefined
  }

  return async (version = known): Promise<{ figure: Figure | undefined; isFresh: boolean }> => {
    const age = version === known ? monotonic() - readAt : Infinity
    if (age >= maxAge) reading ??= refresh(version)
    if (reading && age >= maxAge + grace) await within(timeout, reading)
    return { figure, isFresh }
  }
}
